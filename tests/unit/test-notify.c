/* Tests cmd/notify: the datagrams that systemd gets. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/serving.h"
#include "unit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket in the abstract namespace, named by the kernel; `name` is as NOTIFY_SOCKET has it. */
static int listener(char name[static 128])
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = sizeof(a);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	n -= (socklen_t)offsetof(struct sockaddr_un, sun_path);
	snprintf(name, 128, "@%.*s", (int)n - 1, a.sun_path + 1);
	return fd;
}

START_TEST(words_arrive)
{
	char name[128], got[128] = "";
	int fd = listener(name), to = notify_open(name);

	notify_send(to, "READY=1");
	ck_assert_int_eq(recv(fd, got, sizeof(got) - 1, 0), 7);
	ck_assert_str_eq(got, "READY=1");
	notify_reloading(to);
	ck_assert_int_gt(recv(fd, got, sizeof(got) - 1, 0), 30);
	ck_assert_int_eq(strncmp(got, "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
	close(fd);
	notify_send(to, "READY=1"); /* no process listens any more */
	close(to);
	ck_assert_int_eq(notify_open(name), -1);
	ck_assert_int_eq(notify_open(NULL), -1);
	ck_assert_int_eq(notify_open(""), -1);
	ck_assert_int_eq(notify_open("relative"), -1);
	notify_send(-1, "READY=1");
}
END_TEST

START_TEST(the_watchdog_is_fed_at_half_time)
{
	char me[24];

	snprintf(me, sizeof(me), "%d", (int)getpid());
	ck_assert_uint_eq(notify_watchdog_ms("30000000", NULL), 15000);
	ck_assert_uint_eq(notify_watchdog_ms("30000000", me), 15000);
	ck_assert_uint_eq(notify_watchdog_ms("30000000", "1"), 0);
	ck_assert_uint_eq(notify_watchdog_ms("1", NULL), 1);
	ck_assert_uint_eq(notify_watchdog_ms("x", NULL), 0);
	ck_assert_uint_eq(notify_watchdog_ms(NULL, NULL), 0);
}
END_TEST

UNIT_MAIN("notify", words_arrive, the_watchdog_is_fed_at_half_time)

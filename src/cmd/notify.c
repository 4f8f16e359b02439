/* Sends datagrams to systemd by the protocol of sd_notify(3), which is too small to need a library. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/notify.h"
#include "base/util.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

int notify_open(const char *socket_name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	size_t n = socket_name ? strlen(socket_name) : 0;

	if (n < 2 || n >= sizeof(to.sun_path) || (socket_name[0] != '/' && socket_name[0] != '@'))
		return -1;
	memcpy(to.sun_path, socket_name, n);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0'; /* the abstract namespace */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		return -1;
	return take_fd(&fd);
}

void notify_send(int fd, const char *text)
{
	if (fd >= 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

void notify_reloading(int fd)
{
	struct timespec t;
	char text[96];

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		(uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
	notify_send(fd, text);
}

unsigned notify_watchdog_ms(const char *usec, const char *pid)
{
	unsigned long long n = usec ? strtoull(usec, NULL, 10) : 0;

	if (pid && *pid && strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	return n ? (unsigned)MAX(MIN(n / 2000, 3600000ull), 1ull) : 0;
}

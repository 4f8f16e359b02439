/* symfs umount: returns when the mount is gone and its daemon has ended. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "base/banned.h"

#define ASK_MS 3000
#define END_MS 30000

/* ---- who serves a mount ------------------------------------------------------------- */

#define NOBODY (-1) /* it is dead or stopped */
#define UNKNOWN 0   /* it lives, and does not talk to us: another user's mount */

/* Writes the line `pid N` of .symfs/stats to the pipe, or `errno N`. */
static void ask_pid(const char *point, int to)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(8192);
	char text[64];
	ssize_t n, w;
	int fd;

	if (buf_addf(&name, "%s/.symfs/stats", point) < 0)
		return;
	fd = open(buf_text(&name), O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	if (n < 0)
		n = snprintf(text, sizeof(text), "errno %d", errno);
	w = write(to, text, (size_t)n);
	(void)w;
}

static pid_t read_pid(const char *text)
{
	if (strncmp(text, "pid ", 4) == 0)
		return (pid_t)strtol(text + 4, NULL, 10);
	if (strncmp(text, "errno ", 6) == 0 && strtol(text + 6, NULL, 10) != ENOTCONN)
		return UNKNOWN;
	return NOBODY;
}

/* The daemon's pid, NOBODY, UNKNOWN. A child asks, because who waits for a stopped daemon can
 * only be killed. */
static pid_t daemon_of(const char *point)
{
	struct pollfd p = {.events = POLLIN};
	char text[80] = "";
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return UNKNOWN;
	child = fork();
	if (child == 0) {
		ask_pid(point, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	p.fd = ends[0];
	if (child > 0 && poll(&p, 1, ASK_MS) > 0 && read(ends[0], text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(ends[0]);
	if (child < 0)
		return UNKNOWN;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return read_pid(text);
}

/* 0: it has ended. */
static int wait_end(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int r;

	do
		r = poll(&p, 1, END_MS);
	while (r < 0 && errno == EINTR);
	return r > 0 ? 0 : -ETIMEDOUT;
}

/* ---- the command -------------------------------------------------------------------- */

static int unmount(const char *point, bool lazy)
{
	pid_t pid = daemon_of(point);
	_cleanup_close_ int pidfd = -1;
	struct err e;
	int r;

	/* Before it can end, so that the number is still its own. */
	if (pid > 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Whoever uses a dead mount gets nothing but errors from it. */
	r = fs_detach(point, pid == NOBODY, &e);
	if (r == -EBUSY && lazy) {
		r = fs_detach(point, true, &e);
		if (r == 0)
			return EXIT_DONE; /* the daemon ends with its last user */
	}
	if (r < 0) {
		fprintf(stderr, "symfs umount: %s%s\n", e.text,
			r == -EBUSY ? "; -l detaches it all the same" : "");
		return r == -EBUSY ? EXIT_NO : EXIT_LOCAL;
	}
	if (pidfd >= 0 && wait_end(pidfd) < 0) {
		fprintf(stderr,
			"symfs umount: %s is unmounted, but its daemon (pid %d) has not ended "
			"yet; a program in another mount namespace may hold a copy of it\n",
			point, (int)pid);
		return EXIT_LOCAL;
	}
	return EXIT_DONE;
}

static int run_umount(int argc, char **argv)
{
	_cleanup_free_ char *point = NULL;
	bool lazy = false;
	const struct opt own[] = {
		{"lazy", 'l', NULL, "detach it although it is in use", &lazy},
		{0},
	};
	struct app_args args;
	int r = app_options(&args, &cmd_umount, own, &argc, argv);

	if (r >= 0)
		return r;
	if (argc != 2) {
		fprintf(stderr, "symfs umount: which directory? try: symfs umount --help\n");
		return EXIT_USAGE;
	}
	r = fs_point(argv[1], &point);
	if (r < 0 || !fs_is_mounted(point)) {
		fprintf(stderr, "symfs umount: %s: %s\n", argv[1],
			r < 0 ? err_text(r) : "no symfs is mounted there");
		return EXIT_NO;
	}
	return unmount(point, lazy);
}

const struct cmd cmd_umount = {
	.name = "umount",
	.args = "[-l] DIR",
	.help = "Unmounts, and returns when the daemon has ended; 1 when the mount is in use",
	.run = run_umount,
};

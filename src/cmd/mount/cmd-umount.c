/* symfs umount: unmounts, and returns when the mount is gone and its daemon has ended. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "fs/fs.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ALL_MS 9000 /* for the whole command: the manual promises 10 s */
#define BUSY_MS 1000 /* how long a mount may be in use before the command gives up */

/* ---- the daemon of a mount ---------------------------------------------------------- */

#define NO_DAEMON (-1) /* the daemon is dead */
#define SILENT (-2)    /* the daemon is stopped or hangs */
#define UNKNOWN 0      /* the daemon lives, but its files are not readable: another user's mount */

/* Returns the daemon's pid, from the line `pid N` of .symfs/stats, or one of these. */
static pid_t daemon_of(const char *point)
{
	_cleanup_free_ char *stats = NULL;
	int r = mount_state(point, "stats", &stats);

	if (r < 0)
		return r == -ENOTCONN ? NO_DAEMON : r == -ETIMEDOUT ? SILENT : UNKNOWN;
	return strncmp(stats, "pid ", 4) == 0 ? (pid_t)strtol(stats + 4, NULL, 10) : UNKNOWN;
}

/* Waits until the daemon has ended (0), or until clock_ms() is `until` (-ETIMEDOUT). */
static int wait_end(int pidfd, uint64_t until)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	uint64_t now;
	int r;

	do {
		now = clock_ms();
		r = poll(&p, 1, now < until ? (int)(until - now) : 0);
	} while (r < 0 && errno == EINTR);
	return r > 0 ? 0 : -ETIMEDOUT;
}

/* ---- the command -------------------------------------------------------------------- */

/* Detaches a mount that no process uses. Tries again for a second: a process that lists all mounts, such as
 * `symfs status` or df(1), uses each of them for a moment. 0, -EBUSY, another -errno. */
static int detach_unused(const char *point, struct err *e)
{
	uint64_t until = clock_ms() + BUSY_MS;
	int r = fs_detach(point, false, e);

	while (r == -EBUSY && clock_ms() < until) {
		poll(NULL, 0, 20);
		r = fs_detach(point, false, e);
	}
	return r;
}

static int unmount(const char *point, bool lazy)
{
	uint64_t until = clock_ms() + ALL_MS;
	pid_t pid = daemon_of(point);
	_cleanup_close_ int pidfd = -1;
	struct err e;
	int r;

	/* Opened before the daemon can end, so that no other process has the pid. */
	if (pid > 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* A mount whose daemon does not answer is detached even if it is in use: requests fail or wait. */
	r = pid < 0 || lazy ? fs_detach(point, pid < 0, &e) : detach_unused(point, &e);
	if (r == -EBUSY && lazy) {
		r = fs_detach(point, true, &e);
		if (r == 0)
			return EXIT_DONE; /* the daemon ends when no process uses the mount any more */
	}
	if (r < 0)
		return cmd_say(r == -EBUSY ? EXIT_NO : EXIT_LOCAL, "%s%s", e.text,
			r == -EBUSY ? "; -l detaches it anyway" : "");
	if (pidfd >= 0 && wait_end(pidfd, until) < 0)
		return cmd_say(EXIT_LOCAL, "%s is unmounted, but its daemon (pid %d) has not ended yet; a program "
			"in another mount namespace may hold a copy of it", point, (int)pid);
	return pid != SILENT ? EXIT_DONE
		: cmd_say(EXIT_DONE, "%s is detached; its daemon did not answer, and may still run", point);
}

static int run_umount(int argc, char **argv)
{
	_cleanup_free_ char *point = NULL;
	bool lazy = false;
	const struct opt own[] = {
		{"lazy", 'l', NULL, "detach DIR even if it is in use", &lazy},
		{0},
	};
	struct app_args args;
	int r = app_options(&args, &cmd_umount, own, &argc, argv);

	if (r >= 0)
		return r;
	if (argc != 2)
		return cmd_usage("expected one directory");
	r = fs_point(argv[1], &point);
	if (r < 0 || fs_mount_id(point) < 0)
		return cmd_say(EXIT_NO, "%s: %s", argv[1], r < 0 ? err_text(r) : "no symfs is mounted there");
	return unmount(point, lazy);
}

const struct cmd cmd_umount = {
	.name = "umount",
	.args = "[-l] DIR",
	.help = "Unmounts, and returns when the daemon has ended; the exit status is 1 if the\n"
		"mount is in use",
	.examples = {"symfs umount ~/symbols",
		"symfs umount --lazy ~/symbols"},
	.run = run_umount,
};

/* Mounts and unmounts through fusermount3, a setuid program. libfuse would fork for it, beside running threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/process.h"
#include "base/util.h"
#include "fs/helper-private.h"
#include "fs/private.h"

#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SOCKET 3 /* the program's number of the socket to which it sends the descriptor */
#define UNMOUNT_MS 30000

/* Starts the program with the socket `comm`; -1: without one. */
static int start(char *const *argv, int comm, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char name[] = "_FUSE_COMMFD=3", **with; /* SOCKET */
	size_t n = 0;
	int r = 0;

	while (environ[n])
		n++;
	with = calloc(n + 2, sizeof(*with));
	if (!with)
		return -ENOMEM;
	with[0] = name;
	memcpy(with + 1, environ, n * sizeof(*with));
	posix_spawn_file_actions_init(&actions);
	if (comm >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, comm, SOCKET);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, comm >= 0 ? SOCKET + 1 : SOCKET);
	if (r == 0)
		r = posix_spawnp(pid, argv[0], &actions, NULL, argv, comm >= 0 ? with : environ);
	posix_spawn_file_actions_destroy(&actions);
	free(with);
	return -r;
}

/* Receives the descriptor. -ETIMEDOUT; -EPERM: the program ended, and has printed why. */
static int receive(int from, unsigned ms)
{
	const struct timeval most = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	char c;
	int fd;
	long n;

	setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	n = helper_receive(from, &c, 1, &fd);
	return fd >= 0 ? fd : n == -EAGAIN ? -ETIMEDOUT : -EPERM;
}

int fusermount_mount(const char *point, const char *options, unsigned ms, int *comm)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-o", (char *)options, (char *)"--", (char *)point, NULL};
	_cleanup_close_ int here = -1, there = -1;
	int ends[2], fd, status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	here = ends[0];
	there = ends[1];
	fd = start(argv, there, &pid);
	if (fd < 0)
		return fd;
	close(take_fd(&there));
	fd = receive(here, ms);
	if (fd >= 0 && comm)
		*comm = take_fd(&here);
	else
		process_wait(pid, fd == -ETIMEDOUT ? 0 : ms, &status);
	return fd;
}

int fusermount_unmount(const char *point, bool lazy, struct err *e)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-u", lazy ? (char *)"-z" : (char *)"-q",
		(char *)"--", (char *)point, NULL};
	int status = 0, r;
	pid_t pid;

	r = start(argv, -1, &pid);
	if (r < 0)
		return err_set(e, r, "fusermount3: %s; install fuse3, or unmount as root", err_text(r));
	r = process_wait(pid, UNMOUNT_MS, &status);
	if (r < 0)
		return err_set(e, r, "fusermount3 did not unmount %s: %s", point, err_text(r));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, -EBUSY, "%s is in use, or it is not yours to unmount", point);
}

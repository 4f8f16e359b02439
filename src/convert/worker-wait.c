/* Waits for a worker process, and explains how it ended. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "convert/worker-private.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOK_MS 200 /* between two checks of `stop` */
#define BLIND_MS 20 /* between two checks that the worker has ended, without a pidfd */

/* Whether the worker has ended; waits up to `ms` milliseconds, or until the worker has sent a message. `pidfd` is
 * -1 if the kernel is too old for such descriptors, or no descriptor is free. */
static bool ended_within(pid_t pid, int pidfd, int ms, int socket, bool *message)
{
	struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
	siginfo_t info = {0};

	poll(p, 2, pidfd >= 0 ? ms : BLIND_MS);
	*message = p[1].revents & POLLIN;
	if (p[0].revents)
		return true;
	return pidfd < 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		info.si_pid == pid;
}

int worker_wait(const struct worker_waiting *w, int *status)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	uint64_t end = clock_ms() + (uint64_t)w->seconds * 1000;
	bool message = false;
	int r = 0;

	while (r == 0 && !ended_within(w->pid, fd, w->stop ? LOOK_MS : 1000, w->serve ? w->socket : -1, &message)) {
		if (w->stop && atomic_load(w->stop))
			r = -EINTR;
		else if (clock_ms() >= end)
			r = -ETIME;
		else if (message)
			r = w->serve(w->ctx);
	}
	if (r < 0)
		kill(w->pid, SIGKILL);
	while (waitpid(w->pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return r;
}

/* symfs does not send SIGKILL to a worker that ended in time: the kernel does, when memory is
 * short. */
static int ended_by(int number, struct err *e)
{
	if (number == SIGXCPU)
		return err_set(e, -ETIMEDOUT, "takes too long to convert");
	if (number == SIGKILL)
		return err_set(e, -ENOMEM, "was not converted: the worker was ended by signal %d, "
			"which the kernel sends when memory is short", number);
	return err_set(e, -EBADMSG, "cannot be converted: the worker was ended by signal %d", number);
}

int worker_ended(int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return ended_by(WTERMSIG(status), e);
	/* The dynamic loader ends with 127: the input is not at fault. */
	if (WEXITSTATUS(status) == 127)
		return err_set(e, -EIO, "was not converted: the worker cannot start; restart symfs "
			"after an upgrade of symfs or its libraries");
	if (WEXITSTATUS(status))
		return err_set(e, -EBADMSG, "cannot be converted: the worker ended with status %d",
			WEXITSTATUS(status));
	return 0;
}

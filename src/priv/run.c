/* Runs a program of libexec as a worker: starts it, waits for it, and takes its word. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "priv/worker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ERRNO_MOST 4095
#define LOOK_MS 200 /* between two checks of `stop` */
#define BLIND_MS 20 /* between two checks that the worker has ended, without a pidfd */

uint64_t worker_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return (uint64_t)MAX(pages, 1L << 16) * (uint64_t)MAX(size, 4096L) / 2;
}

static unsigned seconds_of(const struct worker_run *o)
{
	return o->wait_seconds ? o->wait_seconds : o->seconds ? o->seconds : WORKER_SECONDS;
}

int worker_begin(const struct worker_run *o, const int *fds, unsigned n, pid_t *pid, struct err *e)
{
	char seconds[24], memory[24];
	const char *argv[WORKER_WORDS_MOST + 5] = {o->name, seconds, memory,
		o->unsandboxed ? WORKER_MAY : WORKER_MUST_NOT};
	int r;

	for (unsigned i = 0; i < WORKER_WORDS_MOST && o->words[i]; i++)
		argv[i + 4] = o->words[i];
	snprintf(seconds, sizeof(seconds), "%llu",
		(o->seconds ? o->seconds : WORKER_SECONDS) * MAX(o->threads, 1ull));
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)(o->memory ? o->memory : worker_memory()));
	r = worker_start(o->program, (char *const *)argv, fds, n, pid, e);
	return r < 0 && o->unstarted ? err_wrap(e, o->unstarted) : r;
}

/* ---- waiting ---------------------------------------------------------------------------- */

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

/* Waits until the worker has ended; *status is that of waitpid(). 0; -ETIME: it was killed after its time; -EINTR:
 * because of `stop`; errors of serve(). */
static int wait_for(const struct worker_run *o, pid_t pid, int *status)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t end = clock_ms() + (uint64_t)seconds_of(o) * 1000;
	bool message = false;
	int r = 0;

	while (r == 0 && !ended_within(pid, fd, o->stop ? LOOK_MS : 1000, o->serve ? o->socket : -1, &message)) {
		if (o->stop && atomic_load(o->stop))
			r = -EINTR;
		else if (clock_ms() >= end)
			r = -ETIME;
		else if (message)
			r = o->serve(o->ctx);
	}
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return r;
}

/* ---- the verdict ------------------------------------------------------------------------ */

/* symfs does not send SIGKILL to a worker that ended in time: the kernel does, when memory is short. */
static int ended_by(const struct worker_run *o, int number, struct err *e)
{
	if (number == SIGXCPU)
		return err_set(e, -ETIMEDOUT, "takes too long to %s", o->verb);
	if (number == SIGKILL)
		return err_set(e, -ENOMEM, "was not %s: the worker was ended by signal %d, "
			"which the kernel sends when memory is short", o->done, number);
	return err_set(e, -EBADMSG, "cannot be %s: the worker was ended by signal %d", o->done, number);
}

int worker_ended(const struct worker_run *o, int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return ended_by(o, WTERMSIG(status), e);
	/* The dynamic loader ends with 127: the input is not at fault. */
	if (WEXITSTATUS(status) == 127)
		return err_set(e, -EIO, "was not %s: the worker cannot start; restart symfs after an upgrade of "
			"symfs or its libraries", o->done);
	if (WEXITSTATUS(status))
		return err_set(e, -EBADMSG, "cannot be %s: the worker ended with status %d", o->done,
			WEXITSTATUS(status));
	return 0;
}

/* The result of a worker that has ended: its word, or how it ended. */
static int take_word(const struct worker_run *o, struct worker_end *x, struct err *e)
{
	struct worker_word w;
	ssize_t n = pread(x->word, &w, sizeof(w), 0);
	int r = worker_ended(o, x->status, e);

	x->how = r < 0 ? WORKER_DIED
		: n != (ssize_t)sizeof(w) || w.r > 0 || w.r < -ERRNO_MOST ? WORKER_SILENT
									  : WORKER_SAID;
	if (x->how == WORKER_SILENT)
		return err_set(e, -EBADMSG, "cannot be %s: the worker ended with status 0", o->done);
	if (r < 0)
		return r;
	w.text[sizeof(w.text) - 1] = '\0';
	x->bare = w.bare != 0;
	return w.r < 0 ? err_set(e, w.r, "%s", w.text[0] ? w.text : err_text(w.r)) : 0;
}

void worker_end_release(struct worker_end *x)
{
	cleanup_close(&x->word);
}

int worker_run(const struct worker_run *o, struct worker_end *out, struct err *e)
{
	int fds[WORKER_FDS_MOST], r;
	pid_t pid;

	*out = (struct worker_end){.word = memfd_create(o->name, MFD_CLOEXEC)};
	if (out->word < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	for (unsigned i = 0; i < WORKER_FDS_MOST; i++)
		fds[i] = i < o->n ? o->fds[i] : -1;
	fds[WORKER_WORD - WORKER_FD_FIRST] = out->word;
	r = worker_begin(o, fds, MAX(o->n, WORKER_WORD - WORKER_FD_FIRST + 1u), &pid, e);
	if (r < 0)
		return r;
	r = wait_for(o, pid, &out->status);
	if (r == 0)
		return take_word(o, out, e);
	out->how = WORKER_GIVEN_UP;
	return r == -ETIME ? err_set(e, r, "was not %s within %u s: the machine is too busy", o->done, seconds_of(o))
			   : err_set(e, r, "%s", err_text(r));
}

/* Starts the program that reads unwind tables, and waits for it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/frames.h"
#include "base/util.h"
#include "convert/worker-private.h"
#include "frames/wire.h"
#include "priv/worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int start(const struct frames_work *o, int in, int text, int word, pid_t *pid, struct err *e)
{
	char seconds[16], memory[32];
	char *argv[] = {(char *)"frames", seconds, memory,
		(char *)(o->unsandboxed ? FRAMES_MAY : FRAMES_MUST_NOT), NULL};
	const int fds[] = {in, text, word};

	snprintf(seconds, sizeof(seconds), "%u", o->seconds ? o->seconds : WORKER_SECONDS);
	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)(o->memory ? o->memory : gsym_work_memory()));
	return worker_start(o->program, argv, fds, 3, pid, e) < 0 ? err_wrap(e, "has no unwind rules") : 0;
}

/* The errors that the program may report. Others would be taken for trouble of this machine. */
static int plain_error(int r)
{
	switch (r) {
	case -ENODATA:
	case -ENOTSUP:
	case -ENOMSG:
	case -EFBIG:
	case -EPERM:
	case -ENOMEM:
		return r;
	default:
		return -EBADMSG;
	}
}

/* The result of a process that has ended. */
static int result(const struct frames_work *o, int word, int status, struct unwind_counts *counts, struct err *e)
{
	struct frames_word w;
	ssize_t n = pread(word, &w, sizeof(w), 0);
	int r = worker_ended(status, e);

	if (r < 0)
		return r;
	if (n != (ssize_t)sizeof(w) || w.r > 0)
		return err_set(e, -EBADMSG, "cannot be read: the reader of unwind tables sent no result");
	w.text[sizeof(w.text) - 1] = '\0';
	if (o->bare)
		*o->bare = w.bare != 0;
	*counts = w.counts;
	return w.r < 0 ? err_set(e, plain_error(w.r), "%s", w.text) : 0;
}

int frames_text(const struct frames_work *w, int in, int *out, struct unwind_counts *counts, struct err *e)
{
	_cleanup_close_ int text = memfd_create("frames", MFD_CLOEXEC);
	_cleanup_close_ int word = memfd_create("frames-word", MFD_CLOEXEC);
	unsigned seconds = w->seconds ? w->seconds : WORKER_SECONDS;
	int status = 0, r;
	pid_t pid;

	memset(counts, 0, sizeof(*counts));
	if (text < 0 || word < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	r = start(w, in, text, word, &pid, e);
	if (r < 0)
		return r;
	r = worker_wait(&(struct worker_waiting){.pid = pid, .seconds = seconds, .stop = w->stop, .socket = -1},
		&status);
	if (r == -ETIME)
		return err_set(e, r, "was not read within %u s: the machine is too busy", seconds);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	r = result(w, word, status, counts, e);
	if (r == 0 && lseek(text, 0, SEEK_SET) < 0)
		r = err_set(e, -errno, "%s", err_text(errno));
	if (r == 0)
		*out = take_fd(&text);
	return r;
}

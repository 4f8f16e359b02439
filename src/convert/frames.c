/* Starts the program that reads unwind tables, and waits for it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/frames.h"
#include "base/util.h"
#include "priv/worker.h"

#include <string.h>
#include <sys/mman.h>

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

int frames_text(const struct frames_work *w, int in, int *out, struct unwind_counts *counts, struct err *e)
{
	_cleanup_close_ int text = memfd_create("frames", MFD_CLOEXEC);
	_cleanup_worker_end_ struct worker_end end = {.word = -1};
	const struct worker_run run = {.name = "frames", .program = w->program, .done = "read", .verb = "read",
		.unstarted = "has no unwind rules", .seconds = w->seconds, .memory = w->memory,
		.unsandboxed = w->unsandboxed, .stop = w->stop, .fds = (const int[]){in, text}, .n = 2};
	int r;

	memset(counts, 0, sizeof(*counts));
	if (text < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	r = worker_run(&run, &end, e);
	if (end.how == WORKER_SILENT || (end.how == WORKER_SAID &&
		pread(end.word, counts, sizeof(*counts), sizeof(struct worker_word)) != (ssize_t)sizeof(*counts)))
		return err_set(e, -EBADMSG, "cannot be read: the reader of unwind tables sent no result");
	if (end.how == WORKER_SAID && w->bare)
		*w->bare = end.bare;
	if (end.how == WORKER_SAID && r < 0)
		r = plain_error(r);
	if (r == 0 && lseek(text, 0, SEEK_SET) < 0)
		r = err_set(e, -errno, "%s", err_text(errno));
	if (r == 0)
		*out = take_fd(&text);
	return r;
}

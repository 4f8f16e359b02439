/* Converts a file in a worker process, and reads unwind tables in another. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/worker.h"
#include "base/util.h"
#include "convert/worker-private.h"
#include "priv/worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const char *word_for(const struct gsym_work *o, const struct gsym_work_file *f)
{
	if (o->form == GSYM_WORK_ASKED && f == &o->alt)
		return WORKER_HERE;
	return !o->lack ? WORKER_NONE : f->ask ? WORKER_ASK : f->fd >= 0 ? WORKER_HERE : WORKER_NONE;
}

/* Reads the ids of the units that the worker lacks. 0; -EBADMSG, -ENOMEM. */
static int take_units(int word, struct gsym_work_lack *lack)
{
	off_t size = lseek(word, 0, SEEK_END) - (off_t)WORKER_UNITS_AT;
	size_t n = MIN(size > 0 ? (size_t)size / 8 : 0, (size_t)GSYM_WORK_UNITS_MOST);

	lack->units = n ? malloc(n * 8) : NULL;
	if (!lack->units)
		return n ? -ENOMEM : -EBADMSG;
	lack->n_units = n;
	return pread(word, lack->units, n * 8, WORKER_UNITS_AT) == (ssize_t)(n * 8) ? 0 : -EBADMSG;
}

static int take_lack(int word, struct gsym_work_lack *out)
{
	if (pread(word, out, sizeof(*out), sizeof(struct worker_word)) != (ssize_t)sizeof(*out))
		*out = (struct gsym_work_lack){.id_len = UINT8_MAX};
	out->units = NULL; /* a pointer of the worker means nothing here */
	out->n_units = 0;
	return out->id_len > sizeof(out->id) || (unsigned)out->kind > GSYM_DWO ? -EBADMSG
		: out->kind == GSYM_DWO ? take_units(word, out)
					: 0;
}

/* The result of a worker that has reported -ENOMEM or -EAGAIN. */
static int explain(const struct gsym_work *o, int r, int word, struct err *e)
{
	if (r == -ENOMEM)
		return err_set(e, r, "was not converted: it needs more memory than the %llu MiB that a worker may "
			"have", (unsigned long long)((o->memory ? o->memory : worker_memory()) >> 20));
	r = o->lack ? take_lack(word, o->lack) : -EBADMSG;
	return r < 0 ? err_set(e, r, "cannot be converted: %s", err_text(r)) : -EAGAIN;
}

static unsigned threads_of(const struct gsym_work *o)
{
	return o->threads ? o->threads : (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), 8L);
}

int gsym_work(const struct gsym_work *o, int in, int *out, struct err *e)
{
	_cleanup_close_ int made = memfd_create("gsym", MFD_CLOEXEC);
	_cleanup_worker_end_ struct worker_end end = {.word = -1};
	char threads[16], form[16], sym[8];
	int alt = o->form == GSYM_WORK_ASKED ? o->asked : o->alt.fd, r;
	struct worker_run run = {.name = "convert", .program = o->program, .done = "converted", .verb = "convert",
		.unstarted = "was not converted", .seconds = o->seconds, .threads = threads_of(o),
		.memory = o->memory, .unsandboxed = o->unsandboxed, .stop = o->stop,
		.serve = o->serve, .ctx = o->ctx, .socket = o->socket,
		.words = {threads, form, word_for(o, &o->alt), word_for(o, &o->package),
			word_for(o, &o->units), sym, o->name ? o->name : "", o->code_id ? o->code_id : "",
			o->code_file ? o->code_file : ""},
		.fds = (const int[]){in, made, -1, o->lack || o->form == GSYM_WORK_ASKED ? alt : -1,
			o->lack ? o->package.fd : -1, o->lack ? o->units.fd : -1}, .n = 6};

	if (made < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	snprintf(threads, sizeof(threads), "%u", run.threads);
	snprintf(form, sizeof(form), "%u", o->form);
	snprintf(sym, sizeof(sym), "%s%s%s", WORKER_PLAIN, o->bare_sym ? WORKER_BARE : "",
		o->no_rules ? WORKER_NO_RULES : "");
	r = worker_run(&run, &end, e);
	if (end.how == WORKER_SAID && o->bare)
		*o->bare = end.bare;
	if (end.how == WORKER_SAID && (r == -ENOMEM || r == -EAGAIN))
		r = explain(o, r, end.word, e);
	if (r == 0)
		*out = take_fd(&made);
	return r;
}

/* ---- unwind tables ------------------------------------------------------------------- */

/* The errors that the program may report. Others would be taken for trouble of this machine. */
static bool is_plain(int r)
{
	return r == -ENODATA || r == -ENOTSUP || r == -ENOMSG || r == -EFBIG || r == -EPERM || r == -ENOMEM;
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
	if (end.how == WORKER_SAID && r < 0 && !is_plain(r))
		r = -EBADMSG;
	if (r == 0 && lseek(text, 0, SEEK_SET) < 0)
		r = err_set(e, -errno, "%s", err_text(errno));
	if (r == 0)
		*out = take_fd(&text);
	return r;
}

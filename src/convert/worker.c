/* Starts a worker process, and takes its result. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/worker.h"
#include "base/util.h"
#include "convert/worker-private.h"
#include "priv/worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

uint64_t gsym_work_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return (uint64_t)MAX(pages, 1L << 16) * (uint64_t)MAX(size, 4096L) / 2;
}

static const char *word_for(const struct gsym_work *o, const struct gsym_work_file *f)
{
	if (o->form == GSYM_WORK_ASKED && f == &o->alt)
		return WORKER_HERE;
	return !o->lack ? WORKER_NONE : f->ask ? WORKER_ASK : f->fd >= 0 ? WORKER_HERE : WORKER_NONE;
}

const char *const worker_forms[] = {
	[GSYM_WORK_V1] = "v1", [GSYM_WORK_OBJECT] = "object", [GSYM_WORK_ELIOT] = "eliot",
	[GSYM_WORK_LENIENT] = "lenient", [GSYM_WORK_SYM] = "sym", [GSYM_WORK_ASKED] = "asked",
	[GSYM_WORK_PARTIAL] = "partial"};

static int start(const struct gsym_work *o, const int fds[6], pid_t *pid, struct err *e)
{
	char threads[16], seconds[16], memory[32], sym[8];
	char *argv[] = {(char *)"convert", threads, seconds, memory, (char *)worker_forms[o->form],
		(char *)(o->unsandboxed ? WORKER_MAY : WORKER_MUST_NOT),
		(char *)word_for(o, &o->alt), (char *)word_for(o, &o->package),
		(char *)word_for(o, &o->units), sym,
		(char *)(o->name ? o->name : ""), (char *)(o->code_id ? o->code_id : ""),
		(char *)(o->code_file ? o->code_file : ""), NULL};

	snprintf(threads, sizeof(threads), "%u", o->threads);
	snprintf(sym, sizeof(sym), "%s%s%s", WORKER_PLAIN, o->bare_sym ? WORKER_BARE : "",
		o->no_rules ? WORKER_NO_RULES : "");
	snprintf(seconds, sizeof(seconds), "%u", o->seconds ? o->seconds : WORKER_SECONDS);
	snprintf(memory, sizeof(memory), "%llu",
		(unsigned long long)(o->memory ? o->memory : gsym_work_memory()));
	return worker_start(o->program, argv, fds, 6, pid, e) < 0 ? err_wrap(e, "was not converted") : 0;
}

/* Reads the ids of the units that the worker lacks. 0; -EBADMSG, -ENOMEM. */
static int take_units(int words, struct gsym_work_lack *lack)
{
	struct stat st;
	size_t n;

	if (fstat(words, &st) < 0 || st.st_size <= (off_t)sizeof(struct worker_word))
		return -EBADMSG;
	n = MIN(((size_t)st.st_size - sizeof(struct worker_word)) / 8, (size_t)GSYM_WORK_UNITS_MOST);
	lack->units = n ? malloc(n * 8) : NULL;
	if (!lack->units)
		return n ? -ENOMEM : -EBADMSG;
	lack->n_units = n;
	return pread(words, lack->units, n * 8, sizeof(struct worker_word)) == (ssize_t)(n * 8) ? 0 : -EBADMSG;
}

static int take_lack(int words, const struct gsym_work_lack *told, struct gsym_work_lack *out)
{
	*out = *told;
	out->units = NULL; /* a pointer of the worker means nothing here */
	out->n_units = 0;
	return told->id_len > sizeof(told->id) || (unsigned)told->kind > GSYM_DWO ? -EBADMSG
		: told->kind == GSYM_DWO ? take_units(words, out)
					 : 0;
}

/* The result of a worker that has ended: its last message, or how it ended. */
static int verdict(const struct gsym_work *o, int words, int status, struct err *e)
{
	struct worker_word w;
	ssize_t n = pread(words, &w, sizeof(w), 0);
	int r = worker_ended(status, e);

	if (r < 0)
		return r;
	if (n != (ssize_t)sizeof(w) || w.r > 0)
		return err_set(e, -EBADMSG, "cannot be converted: the worker ended with status 0");
	w.text[sizeof(w.text) - 1] = '\0';
	if (o->bare)
		*o->bare = w.bare != 0;
	if (w.r == -ENOMEM)
		return err_set(e, w.r, "was not converted: it needs more memory than the %llu MiB that a "
			"worker may have", (unsigned long long)
			((o->memory ? o->memory : gsym_work_memory()) >> 20));
	if (w.r == -EAGAIN) {
		r = o->lack ? take_lack(words, &w.lack, o->lack) : -EBADMSG;
		if (r < 0)
			return err_set(e, r, "cannot be converted: %s", err_text(r));
	}
	return w.r < 0 ? err_set(e, w.r, "%s", w.text) : 0;
}

int gsym_work(const struct gsym_work *o, int in, int *out, struct err *e)
{
	_cleanup_close_ int made = memfd_create("gsym", MFD_CLOEXEC);
	_cleanup_close_ int words = memfd_create("gsym-words", MFD_CLOEXEC);
	unsigned seconds = o->seconds ? o->seconds : WORKER_SECONDS;
	bool asked = o->form == GSYM_WORK_ASKED;
	int status = 0, r;
	pid_t pid;

	if (made < 0 || words < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	r = start(o, (const int[]){in, made, words, asked ? o->asked : o->lack ? o->alt.fd : -1,
		o->lack ? o->package.fd : -1,
			  o->lack ? o->units.fd : -1}, &pid, e);
	if (r < 0)
		return r;
	r = worker_wait(&(struct worker_waiting){.pid = pid, .seconds = seconds, .stop = o->stop, .socket = o->socket,
				.serve = o->serve, .ctx = o->ctx}, &status);
	if (r == -ETIME)
		return err_set(e, r, "was not converted within %u s: the machine is too busy", seconds);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	r = verdict(o, words, status, e);
	if (r == 0)
		*out = take_fd(&made);
	return r;
}

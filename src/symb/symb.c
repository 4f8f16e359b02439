/* The symbolication service: one request from its bytes to its answer, and counters. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/symb.h"
#include "base/clock.h"
#include "base/util.h"
#include "symb/private.h"

#include <string.h>
#include <unistd.h>

/* The limits of symb_try(). */
#define NOW_BYTES (64u << 10) /* of the body */
#define NOW_FRAMES 2000
#define NOW_NANOSECONDS 3000000 /* of processor time for the look-ups: a file can have functions that take long */

const struct symb_api symb_apis[] = {
	{"v5", "/symbolicate/v5", "jobs of modules and stacks; functions, files, lines, inlined calls", true},
	{"v4", "/symbolicate/v4", "one job; a line of text for each frame", false},
	{0},
};

const struct symb_stat_row symb_stat_rows[] = {
	{"symbolicate_requests", "requests for symbolication", COUNT_REQUESTS},
	{"symbolicate_refused", "requests that were refused", COUNT_REFUSED},
	{"symbolicate_frames", "frames that were asked for", COUNT_FRAMES},
	{"symbolicate_named", "frames that got a name or a line", COUNT_NAMED},
	{"symbolicate_modules", "modules that were looked for", COUNT_MODULES},
	{"symbolicate_missing", "modules for which no file was found", COUNT_MISSING},
	{"symbolicate_cached", "modules that were ready to be looked up", COUNT_CACHED},
	{"symbolicate_loaded", "files that were mapped for look-ups", COUNT_LOADED},
	{0},
};

const struct symb_api *symb_api_find(const char *name)
{
	for (const struct symb_api *a = symb_apis; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

uint64_t symb_stat(const struct symb *s, const struct symb_stat_row *row)
{
	return atomic_load(&s->counts[row->index]);
}

static void count(struct symb *s, enum symb_count what, uint64_t n)
{
	atomic_fetch_add(&s->counts[what], n);
}

static void set_limits(struct symb_limits *to, const struct symb_limits *from)
{
	*to = symb_limits_default;
	if (!from)
		return;
	to->bytes = from->bytes ? from->bytes : to->bytes;
	to->jobs = from->jobs ? from->jobs : to->jobs;
	to->modules = from->modules ? from->modules : to->modules;
	to->stacks = from->stacks ? from->stacks : to->stacks;
	to->frames = from->frames ? from->frames : to->frames;
}

int symb_new(struct symb **out, struct fetch *f, const struct symb_limits *limits, struct err *e)
{
	struct symb *s = calloc(1, sizeof(*s));
	int r = s ? derive_new(&s->derive, f) : -ENOMEM;

	if (r < 0) {
		free(s);
		return err_set(e, r, "cannot start symbolication: %s", err_text(r));
	}
	s->fetch = f;
	set_limits(&s->limits, limits);
	s->writers = (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 2L), 8L);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->written, NULL);
	*out = s;
	return 0;
}

void symb_convert_idle(struct symb *s)
{
	derive_convert_idle(s->derive);
}

struct fetch *symb_fetch(const struct symb *s)
{
	return s->fetch;
}

void symb_stop(struct symb *s)
{
	atomic_store(&s->stop, true);
}

void symb_free(struct symb *s)
{
	if (!s)
		return;
	derive_free(s->derive);
	loaded_forget_all(s);
	pthread_cond_destroy(&s->written);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void count_modules(struct symb *s, const struct request *q)
{
	for (size_t i = 0; i < q->n_wanted; i++) {
		const struct wanted *w = &q->wanted[i];

		count(s, COUNT_MODULES, w->asked);
		count(s, COUNT_MISSING, w->asked && !w->file);
		count(s, COUNT_CACHED, w->hit);
	}
}

static void report_missing(const struct request *q, const struct symb_flags *flags)
{
	for (size_t i = 0; flags->missing && i < q->n_wanted; i++) {
		const struct wanted *w = &q->wanted[i];

		if (w->asked && !w->file)
			flags->missing(flags->ctx, &w->m, w->why, w->unsure);
	}
}

static void unref_files(struct symb *s, struct request *q)
{
	for (size_t i = 0; i < q->n_wanted; i++) {
		if (q->wanted[i].file)
			loaded_unref(s, q->wanted[i].file);
		if (q->wanted[i].names)
			loaded_unref(s, q->wanted[i].names);
	}
}

/* Writes an answer, on at most s->writers threads at a time. Writing needs only a processor and memory, so
 * more writers than processors would only take more memory. `now`: returns -EAGAIN instead of waiting or taking
 * long. */
static int write_answer(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double took, bool now, struct buf *out)
{
	bool full;
	int r;

	pthread_mutex_lock(&s->lock);
	while (!now && s->writing >= s->writers)
		pthread_cond_wait(&s->written, &s->lock);
	full = s->writing >= s->writers;
	s->writing += !full;
	pthread_mutex_unlock(&s->lock);
	if (full)
		return -EAGAIN;
	r = reply_write(s, api, q, flags, took, now ? NOW_NANOSECONDS : 0, out);
	pthread_mutex_lock(&s->lock);
	s->writing--;
	pthread_cond_signal(&s->written);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Loads the modules and writes the answer. Returns an HTTP status, or -errno. `now`: as symb_try(). */
static int run(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double begun, bool now, struct buf *out, struct err *e)
{
	int r = load_modules(s, q, flags, now);
	double took = clock_seconds() - begun;
	bool loaded = r == 0;
	int status = 200;

	if (r == 0)
		status = request_check(q, e);
	if (r == 0 && status == 200)
		r = write_answer(s, api, q, flags, took, now, out);
	if (loaded && r != -EAGAIN) {
		count_modules(s, q);
		report_missing(q, flags);
	}
	unref_files(s, q);
	return r < 0 ? r : status;
}

/* symb_answer(), or with `now` symb_try(). */
static int answer(struct symb *s, const struct symb_api *api, struct span body, const struct symb_flags *flags,
	bool now, struct buf *out)
{
	static const struct symb_flags none = {0};
	struct request q = {0};
	struct err e = {0};
	double begun = clock_seconds();
	int status = request_read(&q, api, body, &s->limits, &e), r = status;

	buf_clear(out);
	if (now && q.n_frames > NOW_FRAMES)
		r = -EAGAIN;
	else if (status == 200)
		r = run(s, api, &q, flags ? flags : &none, begun, now, out, &e);
	if (r == -EAGAIN) {
		buf_clear(out);
		request_release(&q);
		return r;
	}
	count(s, COUNT_REQUESTS, 1);
	status = r;
	if (r < 0) {
		status = r == -EINTR ? 503 : 500;
		err_set(&e, status, "%s", r == -EINTR ? "the service is stopping" : err_text(r));
	}
	if (status != 200) {
		count(s, COUNT_REFUSED, 1);
		reply_error(e.text, out);
	}
	request_release(&q);
	return status;
}

int symb_answer(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out)
{
	return answer(s, api, body, flags, false, out);
}

int symb_try(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out)
{
	return body.n > NOW_BYTES ? -EAGAIN : answer(s, api, body, flags, true, out);
}

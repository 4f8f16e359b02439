/* The symbolication service, and its counters. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/symb.h"
#include "base/util.h"
#include "symb/form.h"
#include "symb/private.h"

#include <unistd.h>

const struct symb_limits symb_limits_default = {
	.bytes = 16u << 20, .jobs = 10, .modules = 2000, .stacks = 20000, .frames = 200000};

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

uint64_t symb_stat(const struct symb *s, const struct symb_stat_row *row)
{
	return atomic_load(&s->counts[row->index]);
}

void symb_count(struct symb *s, enum symb_count what, uint64_t n)
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

int symb_status(int r)
{
	return r >= 0 ? 200 : r == -E2BIG || r == -EFBIG ? 413 : r == -EINTR ? 503 : 500;
}

/* Writes down the misses of a race that no source won. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/job.h"

#include <stdio.h>

/* ---- misses: of every source that said no ------------------------------------------- */

/* Of the key that was asked for, and of the name by which it was. */
static void miss_add(struct flight *fl, const struct attempt *at)
{
	const char *name = layout_name_of(at->source->layout, &fl->what);
	struct key shown = fl->key;

	if (*name)
		snprintf(shown.name, sizeof(shown.name), "%s", name);
	if (!key_equal(&shown, &fl->key))
		shown = fl->key;
	store_miss_add(fl->f->store, &shown, name, at->source->memory, at->source->o.miss_seconds,
		"not there");
}

static void misses_run(struct work *w)
{
	struct flight *fl = w->fl;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		/* The race is over: nothing of an attempt changes while this runs. */
		if (at->state == ATTEMPT_MISSING && !at->remembered)
			miss_add(fl, at);
	}
	/* Another process may have got it meanwhile, from where we did not, or `symfs add` brought it. */
	w->own = fl->own;
	if (fl->end_error)
		learn_find(fl->f, &fl->own, &w->blob, &w->own);
}

static void misses_back(struct work *w)
{
	struct fetched a = {.key = w->own, .blob = w->blob, .why = ""};

	if (w->fl->dead)
		return;
	if (!w->blob) {
		race_over(w->fl);
		return;
	}
	a.size = blob_size(w->blob);
	flight_finish(w->fl, &a);
}

void work_misses(struct flight *fl)
{
	struct work *w = work_new(fl, misses_run, misses_back);

	fl->state = FLIGHT_MISS;
	if (!w || work_start(w) < 0)
		out_of_memory(fl);
}

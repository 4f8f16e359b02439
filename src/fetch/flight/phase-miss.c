/* The phase after a race that no source won: stores the misses, and looks into the store once more. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/job.h"

#include <stdio.h>

struct misses {
	struct job job;
	bool first; /* the flight's `first` */
	struct blob *blob; /* the file, if another process or `symfs add` stored it meanwhile; NULL: not stored */
	struct key key;	   /* of `blob` */
};

/* Stores a miss for the key that was asked for, and for the name by which the source was asked. The list of misses
 * shows the layout's spelling of the name, if that spelling gives the same key. */
static void miss_add(struct flight *fl, const struct source *s, bool first)
{
	const char *name = layout_name_of(s->layout, &fl->what);
	struct key shown = fl->key;
	char room[MISS_NAME];

	if (*name)
		snprintf(shown.name, sizeof(shown.name), "%s", name);
	if (!key_equal(&shown, &fl->key))
		shown = fl->key;
	store_miss_add(fl->f->store, &shown, miss_name(s, &fl->what, room), s->memory, s->o.miss_seconds,
		first ? "not there" : STORE_MISS_UNLISTED);
}

static void misses_run(struct job *j)
{
	struct misses *m = (struct misses *)j;
	struct flight *fl = j->flight;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		/* The race is over, so attempts do not change while this runs. */
		if (at->state == ATTEMPT_MISSING && !at->remembered)
			miss_add(fl, at->source, m->first);
	}
	for (unsigned i = 0; fl->cut.missed && i < fl->sources->n; i++)
		if (embedded_may_come(fl->f, fl->sources->list[i], &fl->own))
			miss_add(fl, fl->sources->list[i], m->first);
	if (fl->better.blob) {
		better_remember(fl, fl->better.blob, better_seconds(fl));
		m->blob = blob_ref(fl->better.blob);
		m->key = fl->better.key;
		return;
	}
	m->key = fl->own;
	if (fl->race.error)
		learn_find(fl->f, &fl->own, &m->blob, &m->key);
}

/* How many seconds after the miss a source wants to be asked once more; 0: none does. Until then its miss is
 * remembered. */
static int64_t seconds_to_again(const struct flight *fl)
{
	int64_t seconds = 0;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];
		const struct source_opts *o = &at->source->o;

		if (at->state == ATTEMPT_MISSING && !at->remembered && o->again_seconds)
			seconds = MAX(seconds, MAX(o->again_seconds, o->miss_seconds + 1));
	}
	return seconds;
}

static void misses_back(struct job *j)
{
	struct misses *m = (struct misses *)j;
	struct flight *fl = j->flight;
	int64_t seconds;

	if (flight_is_over(fl))
		return;
	if (m->blob) {
		flight_say(fl, (struct event){SAID_HERE, .key = &m->key, .blob = m->blob});
		return;
	}
	seconds = seconds_to_again(fl);
	if (seconds)
		fl->f->later_note(fl->f, &fl->what, &fl->key, seconds);
	flight_say(fl, (struct event){SAID_MISSES_STORED});
}

static void misses_free(struct job *j)
{
	struct misses *m = (struct misses *)j;

	blob_unref(m->blob);
	free(m);
}

static const struct job_kind misses_kind = {misses_run, misses_back, misses_free};

static void misses_write(struct flight *fl)
{
	struct misses *m = calloc(1, sizeof(*m));

	if (m)
		m->first = fl->first;
	if (!m || job_start(&m->job, fl, &misses_kind) < 0)
		flight_say_no_memory(fl);
}

const struct phase phase_miss = {misses_write, NULL};

/* Which sources answer no byte ranges, or no more than one at a time: they are not asked for them for a while. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "fetch/flight.h"

#include <string.h>

static struct no_ranges *no_ranges_of(struct fetch *f, const struct source *s)
{
	return &f->no_ranges[hash_mix(s->name, strlen(s->name)) % NO_RANGES];
}

void ranges_refuse(struct fetch *f, const struct source *s)
{
	no_ranges_of(f, s)->until = clock_ms() + NO_RANGES_MS;
}

bool ranges_takes_several(struct fetch *f, const struct source *s)
{
	return no_ranges_of(f, s)->several_until < clock_ms();
}

void ranges_refuse_several(struct fetch *f, const struct source *s)
{
	no_ranges_of(f, s)->several_until = clock_ms() + NO_RANGES_MS;
}

bool flight_wants_all(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need == FETCH_WHOLE || t->need == FETCH_STREAM)
			return true;
	return fl->streamed;
}

bool ranges_wanted(const struct query *q)
{
	const struct attempt *at = q->attempt;
	const struct flight *fl = at->flight;
	const struct source *s = at->source;

	return !fl->ranges.off && !at->plain && !q->ask.ptr && source_sends_ranges(s) &&
		filetype_is(fl->own.type, TYPE_RANDOM) && !flight_wants_all(fl) &&
		no_ranges_of(fl->f, s)->until < clock_ms();
}

/* Remembers sources that answer no byte ranges, or only one at a time, so that symfs avoids such requests for a
 * while. Also decides whether ranges of a file take less time than the whole file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "fetch/flight.h"
#include "fetch/whole.h"

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

	return fl->f->opts.ranges != RANGES_NEVER && !fl->ranges.off && !at->plain && !q->ask.ptr &&
		source_sends_ranges(s) &&
		filetype_is(fl->own.type, TYPE_RANDOM) && !flight_wants_all(fl) &&
		no_ranges_of(fl->f, s)->until < clock_ms();
}

/* An open-ended transfer can pause until an OPEN comes. It must not occupy the source's only connection. */
bool ranges_open_ended(const struct query *q)
{
	const struct attempt *at = q->attempt;

	return at->flight->f->opts.ranges == RANGES_AUTO && at->source->o.connections != 1 &&
		!at->flight->check.partial;
}

bool ranges_cost_more(const struct flight *fl, bool streams)
{
	struct speed s = net_speed(fl->f->net, fl->body.winner->source->origin);
	struct whole w = {
		.size = fl->body.size,
		.present = body_here(&fl->body),
		.round_us = speed_round_us(&s),
		.rate = speed_rate(&s),
		.walked = !filetype_is(fl->own.type, TYPE_PROGRAM) || fl->ranges.ahead.units.end,
		.heads = fl->ranges.ahead.n_heads,
		.rounds = 1 + fl->ranges.waited,
		.streams = streams,
	};
	bool more = fl->f->opts.ranges == RANGES_AUTO && whole_is_faster(&w);

	if (more || streams)
		log_debug(LOG_FETCH, "%s: %s, at %.1f ms for a request and %.1f MB/s", fl->canon,
			more ? "the whole" : "ranges", w.round_us / 1e3, w.rate / 1e6);
	return more;
}

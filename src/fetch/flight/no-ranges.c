/* Remembers sources that answer no byte ranges, or only one at a time, so that symfs avoids such requests for a
 * while. Also decides whether ranges of a file take less time than the whole file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/ahead.h"
#include "fetch/flight/flight.h"
#include "fetch/flight/whole.h"

#include <string.h>

/* ---- whether a whole file takes less time than its ranges --------------------------- */

/* By experience (tests/bench/sparse.sh): eu-addr2line and gdb wait 6 times for one address in an indexed ELF file of
 * 1 MiB, and 10, 13, 16, 21 times in files that are each four times as large as the one before. llvm-symbolizer
 * waits 7, 12 and 13 times for a PDB of 3, 11 and 30 MB, and 2 or 3 times for its program. Where units are listed, a
 * debugger may hop over all of them, AHEAD_BATCH at a time. */
#define ROUNDS_AT_MIB 6.0
#define ROUNDS_DOUBLING 1.5
#define ROUNDS_PROGRAM 2.0
#define ROUNDS_LEAST 3.0
/* A reader that has waited whole_rounds() times may wait this many times more. */
#define ROUNDS_LEFT 2.0
/* A reader that waited more than ODD * whole_rounds() times is expected to wait as often again as it has. */
#define ODD 2.0
#define BYTES_MOST (768u << 10) /* the most bytes that readers by ranges need, read-ahead included */
#define IN_FLIGHT (512u << 10)	/* bytes of a stream that are sent before it can be ended */

double whole_rounds(const struct whole *w)
{
	double rounds = ROUNDS_AT_MIB + (double)(w->heads / AHEAD_BATCH), at = 1 << 20, size = (double)w->size;

	if (!w->walked)
		return ROUNDS_PROGRAM;
	for (; at < size; at *= 2)
		rounds += ROUNDS_DOUBLING;
	for (; at >= 2 * size && rounds > ROUNDS_LEAST; at /= 2)
		rounds -= ROUNDS_DOUBLING;
	return MAX(rounds, ROUNDS_LEAST);
}

/* Returns how many ranges readers will still wait for. */
static double rounds_left(const struct whole *w)
{
	double all = whole_rounds(w), waited = w->rounds;

	if (waited > ODD * all)
		return waited;
	return MAX(all - waited, w->walked ? ROUNDS_LEFT : 1);
}

bool whole_is_faster(const struct whole *w)
{
	double missing = (double)(w->size - MIN(w->present, w->size));
	/* Ending a stream closes its connection, and a new connection takes at least a round trip. */
	double whole_us = missing * 1e6 / w->rate + (w->streams ? -w->round_us : w->round_us);
	double ranges_us = MIN(missing / 2, BYTES_MOST) * 1e6 / w->rate + rounds_left(w) * w->round_us;

	return (w->streams && missing <= IN_FLIGHT) || whole_us <= ranges_us;
}

/* ---- sources without ranges ------------------------------------------------------------ */

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

bool ranges_may_come(struct fetch *f, const struct source *s)
{
	return f->opts.ranges != RANGES_NEVER && source_sends_ranges(s) && no_ranges_of(f, s)->until < clock_ms();
}

bool ranges_wanted(const struct query *q, bool *open_ended)
{
	const struct attempt *at = q->attempt;
	const struct flight *fl = at->flight;

	/* An open-ended transfer can pause until an OPEN comes. It must not occupy the source's only connection. */
	*open_ended = fl->f->opts.ranges == RANGES_AUTO && at->source->o.connections != 1 && !fl->check.partial;
	return !fl->ranges.off && !at->plain && !q->ask.ptr && filetypes[fl->own.type].flags & TYPE_RANDOM &&
		!flight_wants_all(fl) && ranges_may_come(fl->f, at->source);
}

bool ranges_cost_more(const struct flight *fl, bool streams)
{
	struct speed s = net_speed(fl->f->net, fl->body.winner->source->origin);
	struct whole w = {
		.size = fl->body.size,
		.present = body_here(&fl->body),
		.round_us = speed_round_us(&s),
		.rate = speed_rate(&s),
		.walked = !(filetypes[fl->own.type].flags & TYPE_PROGRAM) || fl->ranges.ahead.units.end,
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

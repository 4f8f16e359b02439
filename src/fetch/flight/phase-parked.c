/* The parked phase of a flight: LOOKUP was answered, an OPEN may follow, and no request needs the bytes yet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/flight.h"

#include <limits.h>

#define PARKED_MOST 4 /* the most flights whose transfers are paused at once */

static void say_unwanted(struct flight *fl)
{
	flight_say(fl, (struct event){SAID_UNWANTED});
}

static void park_over(void *ctx)
{
	struct flight *fl = ctx;

	if (flight_is_lonely(fl))
		say_unwanted(fl);
}

static void park_look(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->body.file && sparse_is_gone(fl->body.file)) {
		say_unwanted(fl); /* the file was evicted; its blocks are freed when it is closed */
		return;
	}
	net_timer_set(fl->f->net, &fl->park.look, FOLLOW_LOOK_MS, park_look, fl);
	if (flights_wanted(fl->f->store, fl->number))
		flight_say(fl, (struct event){SAID_WANTED});
}

static void others_look(void *ctx)
{
	park_for_others(ctx);
}

void park_for_others(struct flight *fl)
{
	if (!flight_is_lonely(fl) || fl->linger || fl->phase != FLIGHT_BODY)
		return;
	if (!flights_wanted(fl->f->store, fl->number)) {
		say_unwanted(fl);
		return;
	}
	net_timer_set(fl->f->net, &fl->park.look, FOLLOW_LOOK_MS, others_look, fl);
	if (fl->ranges.fill)
		return;
	fl->ranges.fill = true;
	ranges_go(fl);
}

/* Whether the transfer will pause. A file no larger than PARK_BYTES completes instead. */
static bool will_stop(const struct flight *fl)
{
	const struct attempt *at = fl->body.winner;

	if (at && at->answer.ranged && (!at->answering->open_ended || at->answer.chosen))
		return false; /* single ranges are not paused */
	if (at && at->answer.ranged && fl->body.size > EARLY_BYTES)
		return true;
	return fl->body.size == FETCH_SIZE_UNKNOWN || fl->body.size > PARK_BYTES;
}

/* How many of a source's transfers may be paused at once. One connection to the source stays free. */
static unsigned parked_most(const struct source *s)
{
	return s->o.connections ? s->o.connections - 1 : UINT_MAX;
}

/* Cancels the oldest parked flight of the source (NULL: of all sources), if there are `most` of them. */
static void park_limit(struct fetch *f, const struct source *s, unsigned most)
{
	struct flight *oldest = NULL;
	unsigned n = 0;

	for (struct flight *fl = f->flights; fl; fl = fl->next) {
		if (fl->phase != FLIGHT_PARKED || fl->tickets || !will_stop(fl) ||
			(s && fl->body.winner->source != s))
			continue;
		n++;
		if (!oldest || fl->began < oldest->began)
			oldest = fl;
	}
	if (oldest && n >= most)
		say_unwanted(oldest);
}

bool park_begin(struct flight *fl)
{
	const struct source *s = fl->body.winner->source;

	/* A source with one connection needs it for other requests, so this file is downloaded to its end. */
	if (will_stop(fl) && parked_most(s) == 0)
		return false;
	/* A paused transfer keeps its connection, and a host has few, so the oldest parked flight is cancelled. */
	if (will_stop(fl)) {
		park_limit(fl->f, s, parked_most(s));
		park_limit(fl->f, NULL, PARKED_MOST);
	}
	if (fl->body.file)
		sparse_set_idle(fl->body.file, true);
	net_timer_set(fl->f->net, &fl->park.over, fl->f->opts.park_ms, park_over, fl);
	net_timer_set(fl->f->net, &fl->park.look, FOLLOW_LOOK_MS, park_look, fl);
	return true;
}

void park_end(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->park.over);
	net_timer_stop(fl->f->net, &fl->park.look);
	if (fl->body.file)
		sparse_set_idle(fl->body.file, false);
}

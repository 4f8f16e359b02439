/* Asks other sources for a better file, when the file of one source is worth less than its key wants (a debug file
 * without debug information). The request is answered afterwards, with the best file that exists, whatever it lacks.
 * If no source has a better file, the store remembers that for as long as a miss.
 *
 * If its first bytes do not show a file's worth, no other source is asked, and the file is read as it arrives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIME_LEAST_MS 2000   /* the least time for finding a better file, after a lesser file was found */
#define TROUBLE_SECONDS 60   /* how long "no better file" is remembered if a source could not be asked */

/* ---- what is remembered ------------------------------------------------------------------------------------- */

/* Writes a name for the sources in use. Another set, or another order, has another name, and is asked anew. */
static void better_name(const struct sources *so, char out[static 32])
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < so->n; i++) {
		uint64_t both[] = {hash, hash_mix(so->list[i]->memory, strlen(so->list[i]->memory))};

		hash = hash_mix(both, sizeof(both));
	}
	snprintf(out, 32, "better:%016" PRIx64, hash);
}

bool better_may_exist(struct fetch *f, const struct sources *so, const struct key *k, const struct blob *b)
{
	char name[32];

	if (!f->opts.ask_on || blob_facts(b)->pinned || worth_suffices(&blob_facts(b)->worth, k->type))
		return false;
	better_name(so, name);
	return store_miss_until(f->store, k, "", name) <= clock_wall();
}

void better_remember(const struct flight *fl, const struct blob *b, int64_t seconds)
{
	char name[32];

	if (worth_suffices(&blob_facts(b)->worth, fl->own.type))
		return;
	better_name(fl->sources, name);
	store_miss_add(fl->f->store, &fl->own, "", name, seconds, "no source has a better file");
}

/* Whether the file comes from the team's bucket. The server that put it there has asked all sources for a better
 * one. */
static bool from_bucket(const struct flight *fl)
{
	return fl->body.winner && source_is_bucket(fl->body.winner->source);
}

int64_t better_seconds(const struct flight *fl)
{
	int64_t seconds = INT64_MAX;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (source_is_bucket(at->source))
			continue; /* its misses are short, because other servers may put a file there */
		if (at->state != ATTEMPT_MISSING && at->state != ATTEMPT_LESS && at->state != ATTEMPT_WON &&
			!from_bucket(fl))
			return TROUBLE_SECONDS;
		seconds = MIN(seconds, at->source->o.miss_seconds);
	}
	return seconds == INT64_MAX ? TROUBLE_SECONDS : seconds;
}

/* ---- a lesser file ------------------------------------------------------------------------------------------ */

static bool any_other(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++) {
		enum attempt_state s = fl->attempts[i].state;

		if (s == ATTEMPT_IDLE || s == ATTEMPT_ASKING || s == ATTEMPT_PROMISING || s == ATTEMPT_LESS)
			return true;
	}
	return false;
}

bool better_is_possible(const struct flight *fl)
{
	bool read = fl->readers.untouched || (fl->readers.part && fl->readers.offer != OFFER_UNPROVEN);

	return fl->f->opts.ask_on && !fl->better.settled && !read && !from_bucket(fl) &&
		(any_other(fl) || fl->better.blob);
}

bool better_is_wanted(const struct flight *fl, const struct worth *w)
{
	return better_is_possible(fl) && !worth_suffices(w, fl->own.type);
}

/* Time is up: the best file so far is the answer. */
static void better_over(void *ctx)
{
	struct flight *fl = ctx;

	log_debug(LOG_FETCH, "%s: no better file in time", fl->canon);
	fl->better.settled = true;
	flight_say(fl, (struct event){SAID_SETTLED});
}

static void limit_time(struct flight *fl)
{
	uint64_t took = clock_ms() - fl->began, most = fl->f->opts.lookup_deadline_ms;
	uint64_t left = took < most ? most - took : 0;

	if (!fl->better.over.due)
		net_timer_set(fl->f->net, &fl->better.over, (unsigned)MAX(left, TIME_LEAST_MS), better_over, fl);
}

/* The source's file is on this machine, so the source is not asked for it again. */
static void skip_source(struct flight *fl, const char *name)
{
	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (strcmp(at->source->name, name) != 0)
			continue;
		attempt_give_up(at);
		at->state = ATTEMPT_MISSING;
		at->remembered = true;
	}
}

bool better_than_held(const struct flight *fl, const struct blob *b)
{
	const struct blob *held = fl->better.blob;

	return !held || worth_compare(&blob_facts(b)->worth, &blob_facts(held)->worth, fl->own.type) > 0;
}

void better_hold(struct flight *fl, const struct key *k, struct blob *b)
{
	struct better *be = &fl->better;

	skip_source(fl, blob_facts(b)->source);
	limit_time(fl);
	if (!better_than_held(fl, b))
		return;
	blob_unref(be->blob);
	be->blob = blob_ref(b);
	be->key = *k;
	log_debug(LOG_FETCH, "%s: %s has a file without %s: asking on", fl->canon, blob_facts(b)->source,
		worth_wanted(fl->own.type));
}

void better_set_aside(struct flight *fl, struct attempt *at, const struct worth *w)
{
	log_debug(LOG_FETCH, "%s: %s has a file without %s: asking on", fl->canon, at->source->name,
		worth_wanted(fl->own.type));
	at->state = ATTEMPT_LESS;
	at->worth = *w;
	limit_time(fl);
}

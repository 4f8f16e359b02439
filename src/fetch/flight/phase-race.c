/* The race of the sources for one key. All sources of a tier are asked at once; the first source in their order
 * that has the file wins. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <stdio.h>
#include <string.h>

#define RESUME_MS 500 /* how often a download that readers wait for is started again */
#define REST_MS 1000 /* the time for a source that broke off to send the rest before another version is taken */

static void race_look(void *ctx);

void attempts_plan(struct flight *fl, const int64_t *until)
{
	int64_t now = clock_wall();

	while (fl->n)
		attempt_release(&fl->attempts[--fl->n]);
	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct source *s = fl->sources->list[i];
		struct source_ask ask = {0};

		fl->cut.may_come |= until[i] <= now && embedded_may_come(fl->f, s, &fl->own);
		if (!s->kind->local && source_plan(s, NULL, &fl->what, 0, &ask) == 0)
			fl->attempts[fl->n++] = (struct attempt){
				.flight = fl, .source = s, .remembered = until[i] > now,
				.state = until[i] > now ? ATTEMPT_MISSING : ATTEMPT_IDLE};
		source_ask_release(&ask);
	}
	log_debug(LOG_FETCH, "%s: %u sources", fl->canon, fl->n);
}

static void start_tier(struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_IDLE &&
			source_tier(fl->attempts[i].source) <= fl->race.tier)
			attempt_start(&fl->attempts[i]);
	race_look_soon(fl);
}

static void race_start(struct flight *fl)
{
	fl->race.grace_over = false;
	net_timer_stop(fl->f->net, &fl->race.grace);
	if (fl->better.settled)
		race_look_soon(fl); /* the best file so far is preferred to sources that were given up */
	else
		start_tier(fl);
}

void race_won(struct flight *fl, const struct attempt *winner)
{
	if (winner)
		taught_note(fl->f, winner->source, fl->key.type, &fl->what, &winner->ask);
	for (unsigned i = 0; i < fl->n; i++)
		if (&fl->attempts[i] != winner)
			attempt_give_up(&fl->attempts[i]);
}

/* Cancels every transfer. */
static void race_stop(struct flight *fl)
{
	struct net_timer *timers[] = {&fl->race.look, &fl->race.grace, &fl->race.again};

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		net_timer_stop(fl->f->net, timers[i]);
	race_won(fl, NULL);
}

void race_look_soon(struct flight *fl)
{
	net_timer_set(fl->f->net, &fl->race.look, 0, race_look, fl);
}

/* ---- no source has it ----------------------------------------------------------------------------------- */

/* Ranks the errors of sources by how much they explain. The user can fix a refusal. A wrong file is a server's fault.
 * A timeout names the wait that was too long. A useless answer explains more than a failed connection. */
static int rank_of_error(int error)
{
	static const int order[] = {-EACCES, -EBADMSG, -EFBIG, -ETIMEDOUT, -EREMOTEIO};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (order[i] == error)
			return (int)(ARRAY_SIZE(order) - i);
	return 0;
}

/* Asks every source for the rest, until the deadline, because an error now would fail the readers of the part. */
static void race_ask_again(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->phase != FLIGHT_RACE || !fl->readers.part)
		return;
	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->state != ATTEMPT_FAILED && at->state != ATTEMPT_MISSING)
			continue;
		at->state = ATTEMPT_IDLE;
		at->retry.renew = true;
	}
	race_start(fl);
}

/* Concludes the race when no source continues the version that is being read. */
static void conclude_read(struct flight *fl)
{
	switch (version_look(fl, false)) {
	case VERSION_CHANGE:
		flight_say(fl, (struct event){SAID_OTHER_VERSION});
		break;
	case VERSION_WAIT:
		net_timer_set(fl->f->net, &fl->race.again, RESUME_MS, race_ask_again, fl);
		break;
	case VERSION_LOST:
		flight_say(fl, (struct event){SAID_FAILED, .error = -ETIMEDOUT,
			.text = "it broke off, and no source has the rest"});
		break;
	}
}

/* The attempt whose error best explains why no source has the file; NULL: all sources answered "not found". */
static const struct attempt *worst_of(const struct flight *fl)
{
	const struct attempt *worst = NULL;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_FAILED &&
			(!worst || rank_of_error(at->failure.error) > rank_of_error(worst->failure.error)))
			worst = at;
	}
	return worst;
}

static bool any_new_miss(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == ATTEMPT_MISSING && !fl->attempts[i].remembered)
			return true;
	return false;
}

static void race_conclude(struct flight *fl)
{
	const struct attempt *worst = worst_of(fl);
	const struct check *c = &fl->check;
	struct race *ra = &fl->race;

	if (fl->readers.part) {
		conclude_read(fl);
		return;
	}
	ra->error = worst ? worst->failure.error : c->store_error ? c->store_error : c->dir_error;
	if (worst)
		snprintf(ra->text, sizeof(ra->text), "%.63s: %.134s", worst->source->name, worst->failure.text);
	else if (c->store_error)
		snprintf(ra->text, sizeof(ra->text), "the store cannot be read: %s", err_text(c->store_error));
	else
		snprintf(ra->text, sizeof(ra->text), "%s", c->dir_text);
	flight_say(fl, (struct event){SAID_LOST, .fresh = any_new_miss(fl)});
}

/* ---- the election --------------------------------------------------------------------------------------- */

void race_see(struct election *el, enum attempt_state state, bool holds_back, unsigned rank)
{
	unsigned nth = ++el->seen;

	if (state == ATTEMPT_PROMISING && !el->best && (!el->held || el->grace_over))
		el->best = nth;
	if (state == ATTEMPT_IDLE && !el->idle)
		el->idle = nth;
	if (state == ATTEMPT_LESS && (rank > el->less_rank || (!el->less && !el->have))) {
		el->less = nth;
		el->less_rank = rank;
	}
	el->promised |= state == ATTEMPT_PROMISING;
	el->asking |= state == ATTEMPT_ASKING;
	el->held |= state == ATTEMPT_PROMISING || (state == ATTEMPT_ASKING && holds_back);
}

enum race_says race_judge(const struct election *el, unsigned *which)
{
	enum race_says settled = el->less ? RACE_SETTLE : el->have ? RACE_KEEP : RACE_LOST;
	enum race_says says = el->best	     ? RACE_ELECT
			      : el->promised ? RACE_HOLD
			      : el->asking   ? RACE_WAIT
			      : el->idle && (!el->settled || settled == RACE_LOST) ? RACE_NEXT_TIER : settled;
	unsigned nth = says == RACE_ELECT ? el->best : says == RACE_NEXT_TIER ? el->idle : el->less;

	*which = nth ? nth - 1 : 0;
	return says;
}

static void race_grace_over(void *ctx)
{
	struct flight *fl = ctx;

	fl->race.grace_over = true;
	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_PROMISING)
			break;
		if (at->state == ATTEMPT_ASKING && !at->answer.here)
			breaker_outrun(fl->f->breakers, at->source->origin);
	}
	race_look_soon(fl);
}

/* Whether the attempt may still win against a later one. A source that waits for its retry does not delay later
 * sources. */
static bool holds_back(const struct attempt *at)
{
	return !at->later.due &&
		(at->answer.here || breaker_may_hold(at->flight->f->breakers, at->source->origin));
}

/* If a source broke off and another source has another version, waits briefly for the rest of the first. */
static void look_at_version(struct flight *fl)
{
	if (!fl->readers.part || !version_has_other(fl))
		return;
	if (version_look(fl, true) == VERSION_CHANGE)
		flight_say(fl, (struct event){SAID_OTHER_VERSION});
	else if (!fl->race.grace.due && !fl->race.grace_over)
		net_timer_set(fl->f->net, &fl->race.grace, REST_MS, race_grace_over, fl);
}

/* Whether an attempt in this state may still have the file as it was published. */
static bool any_published(const struct flight *fl, enum attempt_state state)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].state == state && (state != ATTEMPT_PROMISING || !fl->attempts[i].answer.made[0]))
			return true;
	return false;
}

static enum race_says race_decide(const struct flight *fl, unsigned *which)
{
	const struct blob *held = fl->better.blob;
	struct election el = {.grace_over = fl->race.grace_over, .settled = fl->better.settled,
		.have = held, .less_rank = held ? worth_rank(&blob_facts(held)->worth, fl->own.type) : 0};
	bool asking = any_published(fl, ATTEMPT_ASKING);
	/* A made file that this machine has is not downloaded again from another symfs. */
	bool published = any_published(fl, ATTEMPT_PROMISING) ||
			 (held && blob_is_made(blob_facts(held)));

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];
		bool made = at->state == ATTEMPT_PROMISING && at->answer.made[0];

		/* A file that another symfs made loses against a published one, for which it waits a little. */
		el.held |= made && !published && asking;
		race_see(&el, made && published ? ATTEMPT_MISSING : at->state,
			at->state == ATTEMPT_ASKING && holds_back(at), worth_rank(&at->worth, fl->own.type));
	}
	return race_judge(&el, which);
}

/* No source has a better file than this attempt in ATTEMPT_LESS: asks its source again. */
static void settle_for(struct flight *fl, struct attempt *at)
{
	fl->better.settled = true;
	net_timer_stop(fl->f->net, &fl->better.over);
	log_debug(LOG_FETCH, "%s: no source has a better file than %s", fl->canon, at->source->name);
	at->state = ATTEMPT_IDLE;
	attempt_start(at);
	race_look_soon(fl);
}

/* No source has a better file than the one on this machine. */
static void keep_held(struct flight *fl)
{
	struct better *be = &fl->better;

	be->settled = true;
	if (be->known)
		flight_say(fl, (struct event){SAID_HERE, .key = &be->key, .blob = be->blob});
	else
		flight_say(fl, (struct event){SAID_LOST, .fresh = true});
}

static void race_look(void *ctx)
{
	struct flight *fl = ctx;
	unsigned which = 0;

	if (fl->phase != FLIGHT_RACE || fl->room.making)
		return;
	switch (race_decide(fl, &which)) {
	case RACE_ELECT:
		flight_say(fl, (struct event){SAID_ELECTED, .attempt = &fl->attempts[which]});
		break;
	case RACE_HOLD:
		/* An earlier source may still win, but a slow source delays a fast one only for the grace time. */
		if (!fl->race.grace.due)
			net_timer_set(fl->f->net, &fl->race.grace, fl->f->opts.grace_ms, race_grace_over, fl);
		look_at_version(fl);
		break;
	case RACE_WAIT:
		look_at_version(fl);
		break;
	case RACE_NEXT_TIER: /* sources are sorted by tier */
		fl->race.tier = source_tier(fl->attempts[which].source);
		start_tier(fl);
		break;
	case RACE_SETTLE:
		settle_for(fl, &fl->attempts[which]);
		break;
	case RACE_KEEP:
		keep_held(fl);
		break;
	case RACE_LOST:
		race_conclude(fl);
		break;
	}
}

/* ---- the lookup deadline -------------------------------------------------------------------------------- */

/* Whether the origin is sending a body now. A request without an answer may then be waiting for one of
 * the host's connections, and the host is not at fault. */
static bool is_sending(const struct fetch *f, const char *origin)
{
	for (const struct flight *fl = f->flights; fl; fl = fl->next)
		if (fl->phase == FLIGHT_BODY && fl->body.winner &&
			(fl->body.winner->answering->transfer || fl->ranges.list) &&
			strcmp(fl->body.winner->source->origin, origin) == 0)
			return true;
	return false;
}

static bool is_queued(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_ASKING && queries_are_queued(at))
			return true;
	}
	return false;
}

unsigned race_patience(const struct flight *fl)
{
	unsigned most = fl->waits_ms, first = fl->f->opts.first_answer_ms;
	bool waits = false, well = false;

	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_PROMISING)
			return most;
		if (at->state != ATTEMPT_ASKING)
			continue;
		if (!at->source->origin[0] || at->answer.here || at->wait.on || queries_are_queued(at) ||
			breaker_alive(fl->f->breakers, at->source->origin, 1))
			return most;
		waits = true;
		well |= breaker_well(fl->f->breakers, at->source->origin);
	}
	/* A server that has failed already, and is tried again, holds nobody up. */
	return waits && first ? MIN(most, well ? first : first / 10) : most;
}

unsigned race_time_left(const struct flight *fl)
{
	unsigned ms = race_patience(fl);
	uint64_t now = clock_ms(), least = now > ms ? now - ms : 0, since = least;

	if (is_queued(fl))
		return ms;
	for (unsigned i = 0; i < fl->n; i++) {
		const struct attempt *at = &fl->attempts[i];

		/* The answer has arrived; this process has not examined it yet, or has no room. */
		if (at->state == ATTEMPT_PROMISING)
			return ms;
		if (at->state == ATTEMPT_ASKING)
			since = MAX(since, queries_turn(at));
	}
	return (unsigned)(since - least);
}

void race_deadline(struct flight *fl)
{
	static const struct judgement silent = {
		.error = -ETIMEDOUT, .blame = BLAME_SILENT, .text = "no answer before the lookup deadline"};

	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->state == ATTEMPT_ASKING && !at->answer.here && !at->wait.on &&
			!queries_are_queued(at) && !is_sending(fl->f, at->source->origin) &&
			!breaker_alive(fl->f->breakers, at->source->origin, at->asked))
			breaker_tell(fl->f->breakers, at->source->origin, clock_ms(), &silent, 0);
	}
}

const struct phase phase_race = {race_start, race_stop};

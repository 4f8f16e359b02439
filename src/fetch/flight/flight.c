/* Flights, each the download of one key: their phases, and what each event does in each phase. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/flight.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define LINGER_MS 300000 /* how long a flight continues without requests after the lookup deadline */

static void flight_event(struct flight *fl, const struct event *e);
static void flight_cancel(struct flight *fl);
static void flight_fail(struct flight *fl, int error, const char *why);
static void wait_for_answer(struct flight *fl);

static void enter(struct flight *fl, enum flight_phase to)
{
	const struct phase *const phases[] = {
		[FLIGHT_CHECK] = &phase_check, [FLIGHT_FOLLOW] = &phase_follow, [FLIGHT_RACE] = &phase_race,
		[FLIGHT_SEAL] = &phase_seal, [FLIGHT_CUT] = fl->f->cut, [FLIGHT_MISS] = &phase_miss};

	fl->phase = to;
	phases[to]->start(fl);
}

/* ---- the file exists ---------------------------------------------------------------------------------------- */

static struct fetched answer_exists(const struct flight *fl)
{
	return (struct fetched){.key = fl->own, .size = fl->body.size, .why = ""};
}

static void flight_found(struct flight *fl)
{
	struct fetched a = answer_exists(fl);

	tickets_answer(fl, &a, TICKETS_EXISTS_SURE);
	for (struct ticket *t = fl->tickets; t; t = t->next)
		if (ticket_may_mean_other(fl, t))
			return; /* this ticket still waits for its deadline */
	fl->found = true;
	net_timer_stop(fl->f->net, &fl->deadline);
}

/* Takes SAID_FOUND back, because the bytes are not of the file, or because another process reported the file.
 * Requests wait again to learn whether the file exists. */
static void flight_unfound(struct flight *fl)
{
	if (fl->found)
		wait_for_answer(fl);
	fl->found = false;
}

/* ---- parked: LOOKUP was answered, an OPEN may follow -------------------------------------------------------- */

static void park(struct flight *fl)
{
	if (fl->phase != FLIGHT_BODY || fl->linger || flight_is_wanted_whole(fl) || !park_begin(fl))
		return;
	fl->phase = FLIGHT_PARKED;
}

static void unpark(struct flight *fl)
{
	if (fl->phase != FLIGHT_PARKED)
		return;
	park_end(fl);
	fl->phase = FLIGHT_BODY;
	body_flow(fl);
}

static void said_readers(struct flight *fl)
{
	if (fl->phase == FLIGHT_RACE && flight_is_lonely(fl) && !fl->linger) {
		flight_cancel(fl);
		return;
	}
	if (!flight_receives(fl))
		return;
	if (!flight_is_lonely(fl) || fl->linger)
		ranges_go(fl);
	else if (body_here(&fl->body) < fl->body.size)
		park(fl);
}

/* ---- the lookup deadline ------------------------------------------------------------------------------------ */

/* How long requests that can be interrupted wait beyond the deadline, in ms. Time in the host's queue does not count:
 * a request has the whole lookup deadline once it has left the queue. */
static unsigned time_left(const struct flight *fl)
{
	if (fl->linger || !flight_is_wanted_whole(fl))
		return 0;
	return race_time_left(fl);
}

static void deadline_over(void *ctx);

static void wait_until(struct flight *fl, uint64_t ms)
{
	uint64_t now = clock_ms();

	net_timer_set(fl->f->net, &fl->deadline, ms > now ? (unsigned)(ms - now) : 1, deadline_over, fl);
}

/* The lookup deadline passed. The flight continues without requests, because a slow server may send the file in time
 * for the next request. */
static void deadline_over(void *ctx)
{
	struct flight *fl = ctx;
	struct fetched a = {
		.r = -ETIMEDOUT, .key = fl->key, .why = "no answer before the lookup deadline"};
	bool second = fl->linger;
	unsigned left;

	if (fl->found)
		return;
	left = race_patience(fl);
	if (!fl->linger && clock_ms() < fl->waits_since + left) {
		wait_until(fl, fl->waits_since + left);
		return;
	}
	if (fl->body.winner) { /* the winner's bytes arrive, but do not identify the file yet */
		fl->found = true;
		tickets_answer(fl, &a, TICKETS_EXISTS);
		return;
	}
	left = time_left(fl);
	if (left) {
		tickets_answer(fl, &a, TICKETS_EXISTS);
		net_timer_set(fl->f->net, &fl->deadline, left, deadline_over, fl);
		return;
	}
	if (fl->readers.part || fl->readers.untouched) {
		flight_fail(fl, -ETIMEDOUT, "it broke off, and no source sent the rest in time");
		return;
	}
	fl->linger = true;
	if (!second) {
		atomic_fetch_add(&fl->f->stats.timeouts, 1);
		race_deadline(fl);
	}
	tickets_answer(fl, &a, TICKETS_ALL);
	if (second || fl->phase == FLIGHT_FOLLOW)
		flight_cancel(fl);
	else
		net_timer_set(fl->f->net, &fl->deadline, LINGER_MS, deadline_over, fl);
}

static void wait_for_answer(struct flight *fl)
{
	unsigned most = fl->f->opts.lookup_deadline_ms, first = fl->f->opts.first_answer_ms;

	fl->waits_since = clock_ms();
	fl->waits_ms = most;
	/* The first of several looks at race_patience(). */
	wait_until(fl, fl->waits_since + (first ? MIN(most, first / 10) : most));
}

/* ---- the race, and its winner ------------------------------------------------------------------------------- */

/* A file is on this machine, and servers are asked for a better one. FETCH_EXISTS can be answered already. Its answer
 * does not contain the file, because FETCH_OPEN may get a better one. */
static void answer_held(struct flight *fl)
{
	struct blob *b = fl->better.blob;
	struct fetched a = {.key = fl->better.key, .size = b ? blob_size(b) : 0, .why = ""};

	if (!b)
		return;
	tickets_answer(fl, &a, TICKETS_EXISTS);
	fl->found = true;
	net_timer_stop(fl->f->net, &fl->deadline);
}

static void begin_race(struct flight *fl)
{
	answer_held(fl);
	enter(fl, FLIGHT_RACE);
}

/* The attempt's file.ptr led to a file on a disk of this machine, which was checked. */
static void elect_blob(struct flight *fl, struct blob *blob)
{
	struct fetched a = {.key = fl->own, .blob = blob, .size = blob_size(blob), .why = ""};

	flight_finish(fl, &a);
	blob_unref(blob);
}

/* The attempt continues a download that another attempt, or the same attempt, began. */
static void elect_again(struct flight *fl, struct attempt *at)
{
	int r = body_resume(fl, at);

	if (r == -EREMOTEIO || r == -ESTALE) {
		attempt_give_up(at);
		at->retry.stale = r == -ESTALE;
		attempt_fail(at, r, at->retry.stale ? "it has another version of what is being read"
						    : "it broke off, and begins anew");
		race_look_soon(fl);
		return;
	}
	if (r < 0) {
		flight_fail(fl, r, "the store cannot be written");
		return;
	}
	race_won(fl, at);
	fl->phase = FLIGHT_BODY;
	log_debug(LOG_FETCH, "%s: %s continues %s byte %llu", fl->canon, at->source->name,
		at->answer.from ? "from" : "up to and past", (unsigned long long)body_here(&fl->body));
	flight_found(fl);
	readers_sure(fl);
	transfer_resume(at->answering->transfer);
}

static void said_all(struct flight *fl);

static void elect(struct flight *fl, struct attempt *at)
{
	struct err e = {0};
	int r = body_begin(fl, at, &e);

	if (r == -EAGAIN)
		return;
	if (r < 0) {
		log_error("%s: cannot be stored: %s", fl->canon, e.text[0] ? e.text : err_text(r));
		flight_fail(fl, r, e.text[0] ? e.text : "the store cannot be written");
		return;
	}
	race_won(fl, at);
	fl->phase = FLIGHT_BODY;
	if (!at->answer.unsure)
		flights_say_found(fl->f->store, fl->number);
	log_debug(LOG_FETCH, "%s: %s has it, %lld bytes%s%s", fl->canon, at->source->name,
		(long long)at->answer.size, at->answer.packing ? " of " : "",
		at->answer.packing ? packing_name(at->answer.packing) : "");
	flight_found(fl);
	if (at->answer.whole) {
		said_all(fl);
		return;
	}
	park(fl);
	transfer_resume(at->answering->transfer);
}

static void said_elected(struct flight *fl, struct attempt *at)
{
	if (at->blob)
		elect_blob(fl, take(at->blob));
	else if (fl->body.kind != BODY_NONE)
		elect_again(fl, at);
	else
		elect(fl, at);
}

/* The winner failed. Asks again the sources that were given up for the winner. */
static void said_body_failed(struct flight *fl, int error, const char *text)
{
	if (!body_lost(fl, error, text))
		readers_drop_version(fl, error == -EBADMSG || error == -ENOENT, true, error);
	if (fl->phase == FLIGHT_PARKED)
		park_end(fl);
	fl->found = false;
	wait_for_answer(fl);
	begin_race(fl);
}

/* Other sources may have a better file than the winner. No reader was let in. */
static void said_less(struct flight *fl, const struct worth *w)
{
	struct attempt *at = fl->body.winner;

	if (fl->phase == FLIGHT_PARKED)
		park_end(fl);
	body_set_aside(fl);
	better_set_aside(fl, at, w);
	begin_race(fl);
}

static void said_settled(struct flight *fl)
{
	if (fl->phase != FLIGHT_RACE)
		return;
	race_won(fl, NULL);
	race_look_soon(fl);
}

static void said_other_version(struct flight *fl)
{
	log_warn("%s: source %s broke off: another version is read from now on", fl->canon,
		fl->body.version.source->name);
	phase_race.stop(fl);
	ranges_stop(fl);
	readers_drop_version(fl, true, false, -EIO);
	body_leave_version(fl);
	if (flight_is_lonely(fl) && !fl->linger && !flights_wanted(fl->f->store, fl->number)) {
		flight_cancel(fl);
		return;
	}
	wait_for_answer(fl);
	begin_race(fl);
}

static void said_room(struct flight *fl, int error, const char *text)
{
	if (error < 0) {
		log_error("%s: cannot be stored: %s", fl->canon, text);
		flight_fail(fl, error, text);
	} else if (fl->phase == FLIGHT_RACE) {
		race_look_soon(fl);
	} else {
		body_flow(fl);
	}
}

static void answer_lost(struct flight *fl, bool known)
{
	struct fetched a = {.r = -ENOENT, .key = fl->key, .miss_ms = MISS_ANSWER_MS,
		.why = known ? FETCH_KNOWN : "no source has it"};

	a.unnamed = !fetch_can_name(fl->sources, &fl->what) && !fl->cut.missed;
	if (a.unnamed)
		a.why = FETCH_UNNAMED;
	if (fl->race.error)
		flight_fail(fl, fl->race.error, fl->race.text);
	else
		flight_finish(fl, &a);
}

/* No source won. Misses are stored even if another source could not be asked, so that the sources without the file
 * are not asked again meanwhile. */
static void said_lost(struct flight *fl, bool fresh)
{
	if (fl->cut.may_come && fl->phase != FLIGHT_CUT) {
		fl->cut.fresh = fresh;
		enter(fl, FLIGHT_CUT);
		return;
	}
	if (fresh || fl->race.error) {
		enter(fl, FLIGHT_MISS);
		return;
	}
	miss_counts_add(fl->f, &fl->key);
	answer_lost(fl, fl->n > 0);
}

static void said_all(struct flight *fl)
{
	if (fl->phase == FLIGHT_PARKED)
		park_end(fl); /* the transfer is over; park_limit() must not cancel this flight for another */
	fl->phase = FLIGHT_SEAL;
	if (fl->body.kind == BODY_STREAM && !fl->body.winner->answer.packing)
		readers_offer(fl);
	phase_seal.start(fl);
}

/* ---- beginning and end -------------------------------------------------------------------------------------- */

static struct flight *flight_new(struct fetch *f, const struct artifact *a, const struct key *k)
{
	struct sources *so = fetch_sources(f);
	struct flight *fl = calloc(1, sizeof(*fl) + so->n * sizeof(struct attempt));

	if (!fl) {
		sources_unref(so);
		return NULL;
	}
	fl->f = f;
	fl->event = flight_event;
	fl->sources = so;
	fl->asked = fl->what = *a;
	fl->key = fl->own = *k;
	key_canon(k, fl->canon);
	fl->number = key_number(k);
	fl->body.size = FETCH_SIZE_UNKNOWN;
	fl->began = clock_ms();
	fl->next = f->flights;
	f->flights = fl;
	atomic_fetch_add(&f->stats.flights, 1);
	return fl;
}

static struct flight *flight_find(struct fetch *f, const struct key *k)
{
	char canon[KEY_TEXT];
	struct flight *fl = f->flights;

	key_canon(k, canon);
	while (fl && strcmp(fl->canon, canon) != 0)
		fl = fl->next;
	return fl;
}

/* A request comes to a flight that is already under way. */
static void join_running(struct flight *fl, struct ticket *t)
{
	struct fetched a = answer_exists(fl);

	atomic_fetch_add(&fl->f->stats.joined, 1);
	log_debug(LOG_FETCH, "%s: joined", fl->canon);
	if (fl->found && ticket_may_mean_other(fl, t)) {
		flight_unfound(fl);
	} else if (fl->found && t->need == FETCH_EXISTS) {
		t->answer(t, &a);
		return;
	}
	fl->streamed |= t->need == FETCH_STREAM;
	if (readers_admit(fl, t)) {
		unpark(fl);
		return;
	}
	if (fl->linger && !fl->found) {
		a = (struct fetched){.r = -ETIMEDOUT, .key = fl->key, .why = "still no answer"};
		t->answer(t, &a);
		return;
	}
	tickets_add(fl, t);
	if (t->need != FETCH_EXISTS || ticket_may_mean_other(fl, t))
		unpark(fl);
	if (t->need == FETCH_WHOLE || t->need == FETCH_STREAM)
		ranges_go(fl);
}

void flight_join(struct fetch *f, struct ticket *t, const struct artifact *a, const struct key *k)
{
	struct flight *fl = flight_find(f, k);
	struct fetched none = {.r = -ENOMEM, .key = *k, .why = "out of memory"};

	if (fl) {
		join_running(fl, t);
		return;
	}
	fl = flight_new(f, a, k);
	if (!fl) {
		t->answer(t, &none);
		return;
	}
	log_debug(LOG_FETCH, "%s: flight", fl->canon);
	fl->streamed = t->need == FETCH_STREAM;
	tickets_add(fl, t);
	wait_for_answer(fl);
	enter(fl, FLIGHT_FOLLOW);
}

bool flight_overdue(struct flight *fl, struct ticket *t)
{
	if ((fl->found || race_time_left(fl)) && t->need != FETCH_EXISTS)
		return false;
	tickets_remove(t);
	return true;
}

void flight_leave(struct flight *fl, struct ticket *t)
{
	tickets_remove(t);
	if (!flight_is_lonely(fl) || fl->linger)
		return;
	/* Finish what is nearly done: the bytes are present, and only the disk has to work. */
	if (fl->phase == FLIGHT_SEAL || fl->phase == FLIGHT_MISS || fl->phase == FLIGHT_PARKED)
		return;
	if (fl->phase == FLIGHT_BODY && flights_wanted(fl->f->store, fl->number)) {
		park_for_others(fl);
		return;
	}
	atomic_fetch_add(&fl->f->stats.cancelled, 1);
	log_debug(LOG_FETCH, "%s: the last request left", fl->canon);
	flight_cancel(fl);
}

/* Removes the flight from the table, and stops all its timers and transfers. Then the flight only waits for its
 * jobs. */
static void flight_end(struct flight *fl, int error, struct blob *whole)
{
	struct fetch *f = fl->f;
	struct flight **at = &f->flights;
	/* A parked sparse file stays idle until it is closed. */
	struct net_timer *timers[] = {&fl->deadline, &fl->better.over, &fl->park.over, &fl->park.look};

	while (*at && *at != fl)
		at = &(*at)->next;
	if (*at)
		*at = fl->next;
	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		net_timer_stop(f->net, timers[i]);
	phase_check.stop(fl);
	phase_race.stop(fl);
	f->cut->stop(fl);
	ranges_stop(fl);
	body_drop(fl, false);
	readers_end(fl, error, whole);
	phase_follow.stop(fl);
	fl->phase = FLIGHT_DONE;
}

static void flight_reap(struct flight *fl)
{
	if (fl->phase != FLIGHT_DONE || fl->jobs || fl->tickets)
		return;
	for (unsigned i = 0; i < fl->n; i++)
		attempt_release(&fl->attempts[i]);
	sources_unref(fl->sources);
	free(fl->body.version.where);
	ahead_reset(&fl->ranges.ahead, 0);
	blob_unref(fl->better.blob);
	free(fl);
}

/* Ends the flight without an answer. It must have no tickets. */
static void flight_cancel(struct flight *fl)
{
	if (fl->phase != FLIGHT_DONE)
		flight_end(fl, -EINTR, NULL);
	flight_reap(fl);
}

void flight_finish(struct flight *fl, const struct fetched *a)
{
	flight_end(fl, a->r, a->blob);
	/* After flight_end(): a ticket that continues with its next candidate must not find this flight. */
	tickets_answer(fl, a, TICKETS_ALL);
	flight_reap(fl);
}

static void flight_fail(struct flight *fl, int error, const char *why)
{
	char text[200];
	struct fetched a = {.r = error, .key = fl->key, .why = text};

	snprintf(text, sizeof(text), "%.190s", why);
	if (error != -ENOENT)
		atomic_fetch_add(&fl->f->stats.failures, 1);
	log_debug(LOG_FETCH, "%s: %s: %s", fl->canon, err_name(error), text);
	flight_finish(fl, &a);
}

/* Whether the file of the event is only kept, because it is worth less than wanted. It becomes the answer if no
 * source has a better file. */
static bool holds(struct flight *fl, const struct event *e)
{
	bool sealed = fl->phase == FLIGHT_SEAL;

	if ((fl->phase != FLIGHT_CHECK && !sealed) || !better_is_wanted(fl, &blob_facts(e->blob)->worth))
		return false;
	if (sealed)
		body_set_aside(fl);
	readers_withdraw(fl);
	better_hold(fl, e->key, e->blob);
	if (sealed)
		begin_race(fl);
	return true;
}

static void finish_with(struct flight *fl, const struct event *e)
{
	struct fetched a = {.key = *e->key, .blob = e->blob, .size = blob_size(e->blob), .why = ""};

	flight_finish(fl, &a);
}

/* ---- events ------------------------------------------------------------------------------------------------- */

/* A directory reported the file, but turned out not to have it. */
static void said_not_found(struct flight *fl)
{
	if (fl->found && !fl->tickets)
		flight_cancel(fl);
	else
		flight_unfound(fl);
}

static void said_follows(struct flight *fl)
{
	if (!fl->found && flights_found(fl->f->store, fl->number))
		flight_found(fl);
	if (!fl->tickets)
		flight_cancel(fl);
}

/* This process leads now. It has not found the file yet, although the earlier leader may have found the file. */
static void said_leads(struct flight *fl)
{
	flight_unfound(fl);
	enter(fl, FLIGHT_CHECK);
}

static void said_wanted(struct flight *fl)
{
	unpark(fl);
	park_for_others(fl);
}

/* Another file got the key meanwhile. It is the answer, but readers of the downloaded bytes get an error. */
static void said_beaten(struct flight *fl, const struct event *e)
{
	readers_drop_version(fl, false, false, -EIO);
	finish_with(fl, e);
}

static void flight_event(struct flight *fl, const struct event *e)
{
	switch (e->said) {
	case SAID_JOB_BACK:
		return flight_reap(fl);
	case SAID_FAILED:
		return flight_fail(fl, e->error, e->text);
	case SAID_FOLLOWS:
		return said_follows(fl);
	case SAID_LEADS:
		return said_leads(fl);
	case SAID_HERE:
		return holds(fl, e) ? (void)0 : finish_with(fl, e);
	case SAID_FOUND:
		return flight_found(fl);
	case SAID_NOT_FOUND:
		return said_not_found(fl);
	case SAID_ABSENT:
		return begin_race(fl);
	case SAID_ATTEMPT:
		return race_look_soon(fl);
	case SAID_ELECTED:
		return said_elected(fl, e->attempt);
	case SAID_OTHER_VERSION:
		return said_other_version(fl);
	case SAID_LOST:
		return said_lost(fl, e->fresh);
	case SAID_SURE:
		return readers_sure(fl);
	case SAID_BODY_FAILED:
		return said_body_failed(fl, e->error, e->text);
	case SAID_LESS:
		return said_less(fl, e->worth);
	case SAID_READERS:
		return said_readers(fl);
	case SAID_SETTLED:
		return said_settled(fl);
	case SAID_UNWANTED:
		return flight_cancel(fl);
	case SAID_WANTED:
		return said_wanted(fl);
	case SAID_ALL:
		return said_all(fl);
	case SAID_ROOM:
		return said_room(fl, e->error, e->text);
	case SAID_PROVEN:
		return readers_proven(fl);
	case SAID_BEATEN:
		return said_beaten(fl, e);
	case SAID_MISSES_STORED:
		return answer_lost(fl, false);
	}
}

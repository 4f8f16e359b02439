/* One key under way, and everyone who waits for it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- tickets of a flight ------------------------------------------------------------ */

static void ticket_attach(struct flight *fl, struct ticket *t)
{
	t->flight = fl;
	t->prev = NULL;
	t->next = fl->tickets;
	if (t->next)
		t->next->prev = t;
	fl->tickets = t;
}

static void ticket_detach(struct ticket *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->flight->tickets = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->flight = NULL;
	t->prev = t->next = NULL;
}

static bool begin_alike(enum filetype a, enum filetype b)
{
	return b != FILETYPE_NONE && filetype_row(a)->twin == b;
}

/* Something is there, but its first bytes do not tell whether it is this or something else that the
 * asker's path can mean: the program in place of its debug file, or what is packed so that nothing
 * can be seen of it. */
static bool may_be_other(const struct flight *fl, const struct ticket *t)
{
	const struct attempt *at = fl->winner;

	for (unsigned i = t->at + 1; i < t->n && t->need == FETCH_EXISTS; i++) {
		enum filetype other = t->cands[i].type;

		/* Who has no winner was told by a directory, or by another process. */
		if (at ? at->unsure || (other != fl->key.type && at->may_be >> other & 1)
		       : begin_alike(fl->key.type, other))
			return true;
	}
	return false;
}

static bool is_read(const struct flight *fl)
{
	const struct part *p = fl->part ? fl->part : fl->untouched;

	return p && part_is_open((struct part *)p);
}

static bool wanted_whole(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need != FETCH_EXISTS || may_be_other(fl, t))
			return true;
	return is_read(fl);
}

bool flight_is_lonely(const struct flight *fl)
{
	return !fl->tickets && !is_read(fl);
}

bool flight_lingers(const struct flight *fl)
{
	return fl->linger && flight_is_lonely(fl);
}

/* Whether sources were asked by another name than this asker's. What they said of that name says
 * nothing to him. */
static bool asked_otherwise(const struct flight *fl, const struct ticket *t)
{
	const struct artifact *a = &t->cands[t->at];

	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct layout *l = fl->sources->list[i]->layout;
		const char *name = layout_name_of(l, a);

		if (strcmp(name, layout_name_of(l, &fl->asked)) != 0 &&
			strcmp(name, layout_name_of(l, &fl->what)) != 0)
			return true;
	}
	return false;
}

static bool is_reader(const struct ticket *t)
{
	return t->need == FETCH_OPEN || t->need == FETCH_STREAM;
}

/* A stream has validators that hold for good once it is stored: so small a one waits for that. */
static bool is_opener(const struct ticket *t)
{
	return t->need == FETCH_OPEN;
}

enum askers { ALL, READERS, OPENERS, WHO_ASK_EXISTS, WHO_ARE_SURE /* and ask for no more than that it exists */ };

static bool is_among(enum askers who, const struct flight *fl, const struct ticket *t)
{
	if (who == ALL || who == READERS)
		return who == ALL || is_reader(t);
	if (who == OPENERS)
		return is_opener(t);
	return t->need == FETCH_EXISTS && !(who == WHO_ARE_SURE && may_be_other(fl, t));
}

static void answer_tickets(struct flight *fl, const struct fetched *a, enum askers who)
{
	struct ticket *t = fl->tickets;

	while (t) {
		struct ticket *next = t->next;

		if (is_among(who, fl, t)) {
			ticket_detach(t);
			if ((a->r == -ENOENT || a->r == -EBADMSG) && asked_otherwise(fl, t))
				t->answer(t, NULL);
			else
				t->answer(t, a);
		}
		t = next;
	}
}

static struct fetched answer_exists(const struct flight *fl)
{
	return (struct fetched){.key = fl->own, .size = fl->size, .why = ""};
}

void flight_found(struct flight *fl)
{
	struct fetched a = answer_exists(fl);

	answer_tickets(fl, &a, WHO_ARE_SURE);
	for (struct ticket *t = fl->tickets; t; t = t->next)
		if (may_be_other(fl, t))
			return; /* its deadline stands */
	fl->found = true;
	net_timer_stop(fl->f->net, &fl->deadline);
}

/* ---- readers: served as the bytes come ---------------------------------------------- */

static struct fetched answer_part(const struct flight *fl)
{
	return (struct fetched){.key = fl->own, .size = part_size(fl->part), .part = fl->part, .why = ""};
}

/* Readers of a version that was given up go on with this one, if they have seen neither bytes nor another size. */
static int part_for(struct flight *fl, int fd, uint64_t size, uint64_t have, struct sparse *sp)
{
	if (fl->untouched && !sp && part_size(fl->untouched) == size && part_renew(fl->untouched, fd, have) == 0) {
		fl->part = take(fl->untouched);
		return 0;
	}
	if (fl->untouched)
		part_end(take(fl->untouched), false, -EIO);
	return part_new(&fl->part, fl, fd, size, have, sp);
}

/* Whether readers can be let in: how long it is must be known, and that what comes is the file. */
static bool lets_in(struct flight *fl, const struct ticket *t)
{
	if (fl->offer != OFFER_NONE)
		return fl->offer == OFFER_MADE && t && is_opener(t);
	if (fl->part)
		return true;
	if (!fl->sure || fl->state != FLIGHT_BODY || fl->size == FETCH_SIZE_UNKNOWN)
		return false;
	if (fl->sparse)
		return part_for(fl, sparse_fd(fl->sparse), fl->size, 0, fl->sparse) == 0;
	if (!fl->draft || fl->winner->ranged)
		return false; /* it will have a file with holes first */
	return part_for(fl, draft_fd(fl->draft), fl->size, draft_size(fl->draft), NULL) == 0;
}

static const struct ticket *any_reader(const struct flight *fl)
{
	const struct ticket *t = fl->tickets;

	while (t && !is_reader(t))
		t = t->next;
	return t;
}

void flight_sure(struct flight *fl)
{
	const struct ticket *t;
	struct fetched a;

	fl->sure = true;
	t = any_reader(fl);
	if ((!t && !fl->untouched) || !lets_in(fl, t))
		return;
	a = answer_part(fl);
	answer_tickets(fl, &a, READERS);
	part_nudge(fl->part); /* none of them may have opened it */
}

/* Or who may soon be one: a LOOKUP has been answered, an OPEN follows. */
static bool any_opener_yet(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need == FETCH_OPEN || t->need == FETCH_EXISTS)
			return true;
	return !fl->tickets;
}

void flight_offer(struct flight *fl)
{
	uint64_t size = draft_size(fl->draft);

	/* What debuggers wait for, one after the other. Who reads another may go on to what it taught, or ask for
	 * it by another key, which holds when it is stored. */
	if (fl->own.type != FILETYPE_ELF_DEBUG || key_is_by_debug_id(&fl->own))
		return;
	if (!fl->part && !fl->untouched && any_opener_yet(fl) &&
		part_new(&fl->part, fl, draft_fd(fl->draft), size, size, NULL) == 0)
		fl->offer = OFFER_UNPROVEN;
}

void flight_proven(struct flight *fl)
{
	struct fetched a = answer_part(fl);

	fl->offer = OFFER_MADE;
	answer_tickets(fl, &a, OPENERS);
}

uint64_t flight_here(const struct flight *fl)
{
	if (fl->sparse)
		return sparse_present(fl->sparse);
	return fl->draft ? draft_size(fl->draft) : 0;
}

void flight_readers(struct flight *fl)
{
	if (fl->state == FLIGHT_ASK && flight_is_lonely(fl) && !fl->linger) {
		flight_cancel(fl);
		return;
	}
	if (fl->state != FLIGHT_BODY)
		return;
	if (!flight_is_lonely(fl) || fl->linger)
		ranges_go(fl);
	else if (flight_here(fl) < fl->size)
		flight_park(fl);
}

/* ---- parked: LOOKUP was answered, OPEN may come ------------------------------------- */

static void park_over(void *ctx)
{
	struct flight *fl = ctx;

	if (fl->parked && flight_is_lonely(fl))
		flight_cancel(fl);
}

/* Goes on for askers of other processes, as long as there are any. */
static void for_others(void *ctx)
{
	struct flight *fl = ctx;

	if (!flight_is_lonely(fl) || fl->linger || fl->state != FLIGHT_BODY)
		return;
	if (!flights_wanted(fl->f->store, fl->number)) {
		flight_cancel(fl);
		return;
	}
	net_timer_set(fl->f->net, &fl->poll, FOLLOW_LOOK_MS, for_others, fl);
	if (!fl->fill) {
		fl->fill = true;
		ranges_go(fl);
	}
}

static void park_poll(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->parked)
		return;
	if (fl->sparse && sparse_is_gone(fl->sparse)) {
		flight_cancel(fl); /* evicted: the disk gets its blocks back when it is closed */
		return;
	}
	net_timer_set(fl->f->net, &fl->poll, FOLLOW_LOOK_MS, park_poll, fl);
	if (!flights_wanted(fl->f->store, fl->number))
		return;
	flight_unpark(fl);
	for_others(fl);
}

void flight_unpark(struct flight *fl)
{
	if (!fl->parked)
		return;
	fl->parked = false;
	if (fl->sparse)
		sparse_set_idle(fl->sparse, false);
	net_timer_stop(fl->f->net, &fl->park);
	net_timer_stop(fl->f->net, &fl->poll);
	winner_resume(fl);
}

/* A file that is no larger than what a parked flight takes ends by itself. */
static bool will_stop(const struct flight *fl)
{
	if (fl->winner && fl->winner->ranged)
		return false; /* no transfer stands still */
	return fl->size == FETCH_SIZE_UNKNOWN || fl->size > PARK_BYTES;
}

/* How many of a source's transfers may stand still: one of its connections stays free. */
static unsigned parked_most(const struct source *s)
{
	return s->o.connections ? s->o.connections - 1 : UINT_MAX;
}

/* Cancels the oldest that is parked, of a source or of all, when there are `most` of them. */
static void park_limit(struct fetch *f, const struct source *s, unsigned most)
{
	struct flight *oldest = NULL;
	unsigned n = 0;

	for (struct flight *fl = f->flights; fl; fl = fl->next) {
		if (!fl->parked || fl->tickets || !will_stop(fl) ||
			(s && fl->winner->source != s))
			continue;
		n++;
		if (!oldest || fl->began < oldest->began)
			oldest = fl;
	}
	if (oldest && n >= most)
		flight_cancel(oldest);
}

/* A transfer that stands still keeps its connection, and a host has few: the oldest makes room. */
static void park_make_room(struct flight *fl)
{
	park_limit(fl->f, fl->winner->source, parked_most(fl->winner->source));
	park_limit(fl->f, NULL, PARKED_MOST);
}

/* Nobody needs the whole yet: a flight that only answered LOOKUP waits for OPEN a while. */
void flight_park(struct flight *fl)
{
	if (fl->parked || fl->linger || fl->state != FLIGHT_BODY || wanted_whole(fl))
		return;
	/* Where there is one connection, it is not kept from others: the file comes whole. */
	if (will_stop(fl) && parked_most(fl->winner->source) == 0)
		return;
	if (will_stop(fl))
		park_make_room(fl);
	fl->parked = true;
	if (fl->sparse)
		sparse_set_idle(fl->sparse, true);
	net_timer_set(fl->f->net, &fl->park, fl->f->opts.park_ms, park_over, fl);
	net_timer_set(fl->f->net, &fl->poll, FOLLOW_LOOK_MS, park_poll, fl);
}

/* ---- leading, and following a flight of another process ----------------------------- */

static void flight_beat(void *ctx)
{
	struct flight *fl = ctx;

	follow_beat(&fl->follow, fl->f->store, fl->number);
	net_timer_set(fl->f->net, &fl->beats, FLIGHTS_BEAT_MS, flight_beat, fl);
}

/* As leader, or beside a leader that has stalled. */
static void begin_fetching(struct flight *fl)
{
	struct fetch *f = fl->f;

	if (fl->following)
		flights_want(f->store, fl->number, false);
	fl->following = false;
	/* What the one before had found is not found by us yet. */
	if (fl->found)
		flight_deadline(fl);
	fl->found = false;
	fl->state = FLIGHT_CHECK;
	check_start(fl);
}

static void flight_follow(struct flight *fl);

static void flight_follow_again(void *ctx)
{
	struct flight *fl = ctx;

	flight_follow(fl);
}

static void flight_follow(struct flight *fl)
{
	struct fetch *f = fl->f;
	int r = follow_look(&fl->follow, f->store, fl->number, f->opts.silence_ms);

	if (r == 0) {
		if (fl->follow.leads)
			flight_beat(fl);
		else
			log_warn("%s: the process downloading it has stalled; downloading it here too", fl->canon);
		begin_fetching(fl);
		return;
	}
	if (r != -EAGAIN) {
		flight_fail(fl, r, "the store's lock file");
		return;
	}
	fl->state = FLIGHT_FOLLOW;
	if (wanted_whole(fl) != fl->following) {
		fl->following = !fl->following;
		flights_want(f->store, fl->number, fl->following);
	}
	net_timer_set(f->net, &fl->poll, FOLLOW_LOOK_MS, flight_follow_again, fl);
	if (!fl->found && flights_found(f->store, fl->number))
		flight_found(fl);
	if (!fl->tickets)
		flight_cancel(fl);
}

/* ---- beginning and end -------------------------------------------------------------- */

/* Nobody is kept waiting longer than this for "does it exist". The flight goes on without
 * askers: a server that is slow, not dead, will have it ready for the next one. */
static void deadline_over(void *ctx)
{
	struct flight *fl = ctx;
	struct fetched a = {
		.r = -ETIMEDOUT, .key = fl->key, .why = "no answer before the lookup deadline"};

	bool again = fl->overdue;
	unsigned left;

	if (fl->found)
		return;
	if (fl->winner) { /* it comes, and does not tell what it is */
		fl->found = true;
		answer_tickets(fl, &a, WHO_ASK_EXISTS);
		return;
	}
	/* Who can be interrupted waits for his turn behind others of ours, and from then on as long as all. */
	left = again || !wanted_whole(fl) ? 0
		: race_is_queued(fl)	  ? fl->f->opts.lookup_deadline_ms
					  : race_time_left(fl, fl->f->opts.lookup_deadline_ms);
	if (left) {
		answer_tickets(fl, &a, WHO_ASK_EXISTS);
		net_timer_set(fl->f->net, &fl->deadline, left, deadline_over, fl);
		return;
	}
	if (fl->part || fl->untouched) {
		flight_fail(fl, -ETIMEDOUT, "it broke off, and no source sent the rest in time");
		return;
	}
	fl->overdue = fl->linger = true;
	if (!again) {
		atomic_fetch_add(&fl->f->stats.timeouts, 1);
		race_deadline(fl);
	}
	answer_tickets(fl, &a, ALL);
	if (again || fl->state == FLIGHT_FOLLOW)
		flight_cancel(fl);
	else
		net_timer_set(fl->f->net, &fl->deadline, LINGER_MS, deadline_over, fl);
}

void flight_deadline(struct flight *fl)
{
	net_timer_set(fl->f->net, &fl->deadline, fl->f->opts.lookup_deadline_ms, deadline_over, fl);
}

void attempts_plan(struct flight *fl, const int64_t *until)
{
	int64_t now = clock_wall();

	while (fl->n)
		attempt_release(&fl->attempts[--fl->n]);
	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct source *s = fl->sources->list[i];
		struct source_ask ask = {0};

		if (!s->kind->local && source_plan(s, NULL, &fl->what, 0, &ask) == 0)
			fl->attempts[fl->n++] = (struct attempt){
				.flight = fl, .source = s, .nth = i, .size = -1,
				.remembered = until[i] > now, .remembered_until = until[i],
				.state = until[i] > now ? ATTEMPT_MISSING : ATTEMPT_IDLE};
		source_ask_release(&ask);
	}
	log_debug(LOG_FETCH, "%s: %u sources", fl->canon, fl->n);
}

static void flight_event(struct flight *fl, const struct event *e);

static struct flight *flight_new(struct fetch *f, const struct artifact *a, const struct key *k)
{
	struct sources *so = fetch_sources(f);
	struct flight *fl = calloc(1, sizeof(*fl) + so->n * sizeof(struct attempt));

	if (!fl) {
		sources_unref(so);
		return NULL;
	}
	fl->event = flight_event;
	fl->f = f;
	fl->sources = so;
	fl->asked = fl->what = *a;
	fl->key = fl->own = *k;
	key_canon(k, fl->canon);
	fl->number = key_number(k);
	fl->size = FETCH_SIZE_UNKNOWN;
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

/* A ticket comes to a flight that is already on its way. */
static void join_running(struct flight *fl, struct ticket *t)
{
	struct fetched a = answer_exists(fl);

	atomic_fetch_add(&fl->f->stats.joined, 1);
	log_debug(LOG_FETCH, "%s: joined", fl->canon);
	if (fl->found && may_be_other(fl, t)) {
		fl->found = false;
		flight_deadline(fl);
	} else if (fl->found && t->need == FETCH_EXISTS) {
		t->answer(t, &a);
		return;
	}
	fl->all |= t->need == FETCH_STREAM;
	if (is_reader(t) && lets_in(fl, t)) {
		a = answer_part(fl);
		t->answer(t, &a);
		part_nudge(fl->part);
		flight_unpark(fl);
		return;
	}
	if (fl->overdue && !fl->found) {
		a = (struct fetched){.r = -ETIMEDOUT, .key = fl->key, .why = "still no answer"};
		t->answer(t, &a);
		return;
	}
	ticket_attach(fl, t);
	if (t->need != FETCH_EXISTS || may_be_other(fl, t))
		flight_unpark(fl);
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
	fl->all = t->need == FETCH_STREAM;
	ticket_attach(fl, t);
	flight_deadline(fl);
	flight_follow(fl);
}

bool flight_overdue(struct flight *fl, struct ticket *t)
{
	if ((fl->found || race_is_queued(fl) || race_time_left(fl, fl->f->opts.lookup_deadline_ms)) &&
		t->need != FETCH_EXISTS)
		return false;
	ticket_detach(t);
	return true;
}

void flight_leave(struct flight *fl, struct ticket *t)
{
	ticket_detach(t);
	if (!flight_is_lonely(fl) || fl->linger)
		return;
	/* What is nearly done is finished: the bytes are here, only the disk is asked. */
	if (fl->state == FLIGHT_SEAL || fl->state == FLIGHT_MISS || fl->parked)
		return;
	if (fl->state == FLIGHT_BODY && flights_wanted(fl->f->store, fl->number)) {
		for_others(fl);
		return;
	}
	atomic_fetch_add(&fl->f->stats.cancelled, 1);
	log_debug(LOG_FETCH, "%s: the last asker left", fl->canon);
	flight_cancel(fl);
}

/* Out of the table, silent: from now on it only waits for its jobs. */
static void flight_end(struct flight *fl, int error)
{
	struct fetch *f = fl->f;
	struct net_timer *timers[] = {&fl->deadline, &fl->grace, &fl->poll, &fl->park, &fl->look, &fl->beats};
	struct flight **at = &f->flights;

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		net_timer_stop(f->net, timers[i]);
	check_stop(fl);
	race_stop(fl);
	while (*at && *at != fl)
		at = &(*at)->next;
	if (*at)
		*at = fl->next;
	draft_discard(take(fl->draft));
	ranges_stop(fl);
	if (fl->sparse)
		sparse_close_later(fl, false);
	if (fl->part)
		part_end(take(fl->part), false, error);
	if (fl->untouched)
		part_end(take(fl->untouched), false, error ? error : -EIO);
	if (fl->following)
		flights_want(f->store, fl->number, false);
	follow_end(&fl->follow, f->store, fl->number);
	fl->following = fl->parked = false;
	fl->state = FLIGHT_DONE;
	fl->dead = true;
}

void flight_reap(struct flight *fl)
{
	if (!fl->dead || fl->jobs || fl->tickets)
		return;
	for (unsigned i = 0; i < fl->n; i++)
		attempt_release(&fl->attempts[i]);
	sources_unref(fl->sources);
	free(fl->first_where);
	ahead_end(&fl->ahead);
	free(fl);
}

void flight_cancel(struct flight *fl)
{
	if (!fl->dead)
		flight_end(fl, -EINTR);
	flight_reap(fl);
}

void flight_finish(struct flight *fl, const struct fetched *a)
{
	if (fl->untouched && a->blob)
		part_for(fl, blob_fd(a->blob), blob_size(a->blob), blob_size(a->blob), NULL);
	flight_end(fl, a->r);
	/* A ticket that goes on to its next candidate finds no flight of this key any more. */
	answer_tickets(fl, a, ALL);
	flight_reap(fl);
}

void flight_fail(struct flight *fl, int error, const char *why)
{
	char text[200];
	struct fetched a = {.r = error, .key = fl->key, .why = text};

	snprintf(text, sizeof(text), "%.190s", why);
	if (error != -ENOENT)
		atomic_fetch_add(&fl->f->stats.failures, 1);
	log_debug(LOG_FETCH, "%s: %s: %s", fl->canon, err_name(error), text);
	flight_finish(fl, &a);
}

/* ---- events --------------------------------------------------------------------------------------------- */

static void finish_with(struct flight *fl, const struct event *e)
{
	struct fetched a = {.key = *e->key, .blob = e->blob, .size = blob_size(e->blob), .why = ""};

	flight_finish(fl, &a);
}

/* A directory said that it had the file, and does not after all. */
static void said_not_found(struct flight *fl)
{
	if (!fl->found)
		return;
	if (!fl->tickets) {
		flight_cancel(fl);
		return;
	}
	fl->found = false;
	flight_deadline(fl);
}

static void said_all(struct flight *fl)
{
	fl->state = FLIGHT_SEAL;
	flight_unpark(fl); /* nothing is left to wait for: it must not make room for others */
	if (fl->draft && !fl->sparse && !fl->winner->packing)
		flight_offer(fl);
	seal_start(fl);
}

static void flight_event(struct flight *fl, const struct event *e)
{
	switch (e->said) {
	case SAID_BACK:
		flight_reap(fl);
		break;
	case SAID_FAILED:
		flight_fail(fl, e->error, e->text);
		break;
	case SAID_HERE:
		finish_with(fl, e);
		break;
	case SAID_FOUND:
		flight_found(fl);
		break;
	case SAID_NOT_FOUND:
		said_not_found(fl);
		break;
	case SAID_ABSENT:
		race_start(fl);
		break;
	case SAID_FAILED_BODY:
		winner_fail(fl, e->error, e->text);
		break;
	case SAID_BROKE:
		winner_broke(fl);
		break;
	case SAID_SURE:
		flight_sure(fl);
		break;
	case SAID_ALL:
		said_all(fl);
		break;
	case SAID_ROOM:
		race_has_room(fl, e->error, e->text);
		break;
	case SAID_PROVEN:
		if (fl->offer == OFFER_UNPROVEN)
			flight_proven(fl);
		break;
	case SAID_BEATEN:
		version_drop(fl, false, false, -EIO);
		finish_with(fl, e);
		break;
	case SAID_MISSED:
		race_over(fl);
		break;
	}
}

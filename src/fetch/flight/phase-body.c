/* Receives the body from the source that won, and identifies the file before all bytes have arrived. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define HOLD_MS 20 /* how long a transfer waits for the first reader before its rest is given up */

/* The transfer broke off while a worker identified its first bytes. The failure is handled only now, because the
 * bytes are kept if they are right. */
static void winner_broke(struct flight *fl)
{
	struct event e = {SAID_BODY_FAILED, .error = fl->body.broke};
	char text[200];

	snprintf(text, sizeof(text), "%s", fl->body.broke_text);
	e.text = text;
	fl->body.broke = 0;
	flight_say(fl, e);
}

/* ---- early check: a wrong file is discarded before all bytes have arrived ------------------------------- */

struct early_job {
	struct job job;
	struct attempt *winner;
	unsigned nth; /* `job` of the winner when this job started */
	const struct packing *packing;
	int fd;
	uint64_t have, size;
	/* results */
	int r;
	struct worth worth; /* set if `r` is 1 */
	bool sure;     /* the bytes so far identify the file */
	uint64_t want; /* bytes from the front that are needed to say more; 0: none */
	char text[400];
};

static void early_run(struct job *j)
{
	struct early_job *b = (struct early_job *)j;
	struct flight *fl = j->flight;
	struct view v = view_of_stream(b->fd, b->have, b->size);
	struct obj_slice slice;
	struct err e = {0};

	b->r = b->packing ? packed_early(b->packing, b->fd, b->have, &fl->own, &e)
			  : obj_check(&v, &fl->own, &slice, &e);
	if (b->r == -EAGAIN)
		b->want = v.want_off + MIN(v.want_len, UINT64_MAX - v.want_off);
	if (b->r == -EBADMSG && !b->packing && is_other_use(b->winner, &fl->own, &v, NULL))
		b->r = -ENOENT;
	if (b->r == 1 && !b->packing) {
		learn_early(fl->f, &slice, &fl->own);
		b->worth = slice.worth;
	}
	b->sure = !b->packing && ((b->r == 1 && slice.size == b->size) ||
		(b->r == -EAGAIN && obj_promises(&v, &fl->own)));
	snprintf(b->text, sizeof(b->text), "%.390s", e.text);
}

/* Whether to wait for the worth of the file: an open-ended transfer will soon show it. */
static bool waits_for_worth(const struct flight *fl, const struct early_job *b)
{
	return b->r != 1 && fl->body.winner->answering->open_ended && better_is_possible(fl);
}

static void early_back(struct job *j)
{
	struct early_job *b = (struct early_job *)j;
	struct flight *fl = j->flight;

	/* The winner of these bytes may have failed meanwhile, and another attempt may have won. */
	if (flight_is_over(fl) || !flight_receives(fl) || fl->body.winner != b->winner || b->winner->job != b->nth)
		return;
	fl->body.look = LOOK_OVER;
	if (b->r == -EBADMSG || b->r == -ENOENT) {
		fl->body.broke = 0;
		flight_say(fl, (struct event){SAID_BODY_FAILED, .error = b->r, .text = b->text});
		return;
	}
	if (!fl->found) {
		/* The bytes so far fit the file, so the requests that ask whether it exists are answered. */
		fl->body.winner->answer.may_be = 0;
		flight_say(fl, (struct event){SAID_FOUND});
	}
	if (b->r == 1 && !b->packing)
		atomic_store(&fl->body.poor, !worth_suffices(&b->worth, fl->own.type));
	if (b->r == 1 && !b->packing && !fl->body.winner->answer.parted && better_is_wanted(fl, &b->worth)) {
		flight_say(fl, (struct event){SAID_LESS, .worth = &b->worth});
	} else if (b->sure && !fl->body.winner->answer.parted && !waits_for_worth(fl, b)) {
		flight_say(fl, (struct event){SAID_SURE});
	} else if (b->want && !b->packing && !fl->body.winner->answer.parted) {
		/* The identifying bytes come later in the file. Each check waits for twice as many bytes. */
		fl->body.look_at = MAX(b->want, 2 * b->have);
		fl->body.look = LOOK_LATER;
	}
	if (fl->body.broke)
		winner_broke(fl);
}

static void early_free(struct job *j)
{
	struct early_job *b = (struct early_job *)j;

	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

static const struct job_kind early_kind = {early_run, early_back, early_free};

static void early_start(struct flight *fl)
{
	struct early_job *b = calloc(1, sizeof(*b));

	fl->body.look = LOOK_OVER;
	if (!b)
		return; /* the check of the whole file will find a wrong file, too */
	b->winner = fl->body.winner;
	b->nth = fl->body.winner->job;
	b->packing = fl->body.winner->answer.packing;
	b->fd = fcntl(draft_fd(fl->body.draft), F_DUPFD_CLOEXEC, 0);
	b->have = draft_size(fl->body.draft);
	b->size = fl->body.size == FETCH_SIZE_UNKNOWN ? VIEW_UNKNOWN : fl->body.size;
	if (b->fd < 0) {
		early_free(&b->job);
		return;
	}
	if (job_start(&b->job, fl, &early_kind) == 0)
		fl->body.look = LOOK_RUNS;
}

/* ---- the winner's transfer ------------------------------------------------------------------------------ */

static void say_sure(void *ctx)
{
	struct flight *fl = ctx;

	if (flight_receives(fl))
		flight_say(fl, (struct event){SAID_SURE});
}

static bool all_is_wanted(const struct flight *fl)
{
	return flight_wants_all(fl) || fl->ranges.fill || (fl->linger && flight_is_lonely(fl));
}

/* Ends the transfer if no OPEN came: the OPEN after a LOOKUP mostly comes at once, and without an OPEN more bytes may
 * be useless. */
static void choose_ranges(void *ctx)
{
	struct flight *fl = ctx;
	struct attempt *at = fl->body.winner;

	if (fl->phase != FLIGHT_PARKED || !at || !at->answering->transfer)
		return;
	at->answer.chosen = true;
	transfer_resume(at->answering->transfer);
}

/* Decides how an open-ended first range continues, when its first bytes have shown the speed of the source. 0: the
 * transfer continues. -EAGAIN: no reader came yet. -ECANCELED: the transfer ends, and readers get ranges. */
static int body_choose(struct attempt *at)
{
	struct flight *fl = at->flight;
	struct speed s = net_speed(fl->f->net, at->source->origin);

	if (fl->phase == FLIGHT_PARKED && !at->answer.chosen) {
		net_timer_set(fl->f->net, &fl->ranges.later, HOLD_MS, choose_ranges, fl);
		return -EAGAIN;
	}
	net_timer_stop(fl->f->net, &fl->ranges.later);
	if (!at->answer.chosen && body_here(&fl->body) < CHOOSE_MOST && !speed_is_known(&s))
		return 0; /* a few more bytes will show how fast the host is */
	at->answer.chosen |= !all_is_wanted(fl) && !ranges_cost_more(fl, true);
	if (at->answer.chosen)
		return -ECANCELED;
	at->answer.ranged = false;
	if (fl->body.sure)
		/* not inside the transfer's callback */
		net_timer_set(fl->f->net, &fl->ranges.later, 0, say_sure, fl);
	return 0;
}

/* A packed file and a fat file are needed as a whole. */
static bool is_needed_whole(const struct attempt *at)
{
	return at->answer.packing || at->answer.parted;
}

static int winner_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct attempt *at = ctx;
	struct flight *fl = at->flight;
	struct body *b = &fl->body;
	int r = 0;

	if (fl->room.making || (fl->phase == FLIGHT_PARKED && body_here(b) >= PARK_BYTES))
		return -EAGAIN;
	if (at->answer.ranged && at->answering->open_ended && !is_needed_whole(at) && body_here(b) >= EARLY_BYTES)
		r = body_choose(at);
	if (r < 0)
		return r;
	r = body_keep(fl, at->answer.from + off, p, n);
	if (r == -ENOSPC && body_make_room(fl, n) == 0)
		return -EAGAIN;
	if (r == -ESTALE)
		return r;
	if (r < 0) {
		b->disk_error = r;
		return r;
	}
	atomic_fetch_add(&fl->f->stats.bytes, n);
	if (fl->readers.part)
		part_advance(fl->readers.part, body_here(b));
	if (b->look == LOOK_LATER && !b->file && body_here(b) >= b->look_at)
		early_start(fl);
	return 0;
}

static void winner_fails(struct flight *fl, int error, const char *text)
{
	flight_say(fl, (struct event){SAID_BODY_FAILED, .error = error, .text = text});
}

/* The transfer broke off. */
static void winner_cut(struct attempt *at, const struct net_reply *r)
{
	struct flight *fl = at->flight;
	struct body *b = &fl->body;
	struct judgement j;

	/* The winner gets a new retry after each break, as long as more bytes arrive. */
	if (fl->readers.part && body_here(b) > b->broke_at)
		at->retry.used = false;
	attempt_broke(at, r, at->answer.ranged, &j);
	b->broke = j.error;
	snprintf(b->broke_text, sizeof(b->broke_text), "%.190s", j.text);
	if (b->look != LOOK_RUNS)
		winner_broke(fl);
}

static void winner_done(void *ctx, const struct net_reply *r)
{
	struct attempt *at = ctx;
	struct flight *fl = at->flight;
	struct body *b = &fl->body;

	if (at->answer.chosen && r->error == -ECANCELED) {
		ranges_begin(fl);
	} else if (b->disk_error) {
		log_error("%s: cannot be stored: %s", fl->canon, err_text(b->disk_error));
		flight_say(fl, (struct event){SAID_FAILED, .error = b->disk_error,
			.text = "the store cannot be written"});
	} else if (r->error == -ESTALE || (fl->readers.part && r->error == 0 &&
			draft_size(b->draft) != part_size(fl->readers.part))) {
		winner_fails(fl, -ESTALE, "it has another version of what is being read");
	} else if (r->error < 0) {
		winner_cut(at, r);
	} else if (at->answer.ranged && body_here(b) < b->size && !is_needed_whole(at)) {
		ranges_begin(fl);
	} else if (at->answer.ranged && body_here(b) < (uint64_t)at->answer.size) {
		at->plain = at->retry.soon = true;
		winner_fails(fl, -EREMOTEIO, "its first bytes say that all are needed");
	} else {
		flight_say(fl, (struct event){SAID_ALL});
	}
}

static const struct net_sink winner = {.body = winner_body, .done = winner_done};

void body_flow(struct flight *fl)
{
	if (fl->ranges.on)
		ranges_resume(fl);
	else if (fl->body.winner && fl->body.winner->answering->transfer)
		transfer_resume(fl->body.winner->answering->transfer);
}

/* ---- a winner starts and fails -------------------------------------------------------------------------- */

static void set_winner(struct flight *fl, struct attempt *at)
{
	at->state = ATTEMPT_WON;
	at->taker = &winner;
	fl->body.winner = at;
}

/* Sets `v` to the version of the attempt's answer. */
static void version_take(struct version *v, const struct attempt *at)
{
	free(v->where);
	v->source = at->source;
	v->where = strdup(at->ask.where);
	snprintf(v->etag, sizeof(v->etag), "%s", at->answer.etag);
	snprintf(v->modified, sizeof(v->modified), "%s", at->answer.modified);
}

int body_begin(struct flight *fl, struct attempt *at, struct err *e)
{
	struct body *b = &fl->body;
	int r = body_open_draft(fl, e);

	if (r == 0 && at->answer.head_n)
		r = draft_write(b->draft, 0, at->answer.head, at->answer.head_n);
	if (r == -ENOSPC && body_make_room(fl, at->answer.head_n) == 0) {
		body_drop_draft(fl); /* after SAID_ROOM the election is repeated */
		return -EAGAIN;
	}
	if (r < 0)
		return r;
	set_winner(fl, at);
	for (unsigned i = 0; i < fl->n; i++)
		fl->attempts[i].retry.stale = false;
	b->sure = false;
	atomic_store(&b->poor, false);
	b->look = LOOK_LATER;
	b->look_at = EARLY_BYTES;
	b->broke_at = 0;
	version_take(&b->version, at);
	b->size = at->answer.size >= 0 ? (uint64_t)at->answer.size : FETCH_SIZE_UNKNOWN;
	if (at->answer.whole)
		b->size = at->answer.head_n;
	if (is_needed_whole(at))
		b->size = FETCH_SIZE_UNKNOWN; /* the unpacked size is unknown */
	return 0;
}

static bool may_be_same(const struct flight *fl, const struct attempt *at)
{
	return !is_needed_whole(at) && !at->answer.whole &&
		(at->answer.size < 0 || (uint64_t)at->answer.size == part_size(fl->readers.part));
}

/* A source that broke off and sends the whole file again may break off at the same byte. If another source has
 * another version, readers need not wait for that. */
int body_resume(struct flight *fl, struct attempt *at)
{
	int r = body_open_draft(fl, NULL);

	if (r < 0)
		return r;
	if (at->retry.broke == BROKE_WHOLE && !at->answer.from && version_has_other(fl))
		return -EREMOTEIO;
	if (!may_be_same(fl, at) || body_keep(fl, 0, at->answer.head, at->answer.head_n) < 0)
		return -ESTALE;
	set_winner(fl, at);
	return 0;
}

/* Whether readers may continue with the bytes present, when a winner fails. */
static bool resumes(const struct flight *fl, int error)
{
	bool bad = error == -EBADMSG || error == -ENOENT || error == -EFBIG;

	return fl->readers.part && fl->body.kind != BODY_NONE && !bad;
}

static void judge_winner(struct attempt *at, int error, const char *text)
{
	attempt_give_up(at);
	if (error == -EBADMSG || error == -EFBIG)
		mismatch_add(at, error, text);
	else if (!at->plain && error != -ENOENT)
		log_warn("%s: source %s: %s", at->flight->canon, at->source->name, text);
	if (at->retry.soon)
		attempt_again(at);
	else if (error == -ENOENT)
		at->state = ATTEMPT_MISSING;
	else
		attempt_fail(at, error, text);
}

bool body_lost(struct flight *fl, int error, const char *text)
{
	struct body *b = &fl->body;
	struct attempt *at = b->winner;
	bool more = resumes(fl, error);

	if (more && body_here(b) > b->broke_at) {
		b->broke_at = body_here(b);
		b->stuck_since = clock_ms();
	}
	at->retry.stale = more && error == -ESTALE;
	if (more && error != -ESTALE && at->retry.broke != BROKE_WHOLE)
		at->retry.broke = fl->ranges.on ? BROKE_RANGE : BROKE_WHOLE;
	judge_winner(at, error, text);
	b->winner = NULL;
	if (b->look == LOOK_RUNS)
		b->look = LOOK_LATER; /* the result of the running check will be discarded */
	fl->room.made_at = 0;
	ranges_stop(fl);
	if (more && b->file)
		body_drop_draft(fl);
	return more;
}

void body_set_aside(struct flight *fl)
{
	attempt_give_up(fl->body.winner);
	fl->body.winner = NULL;
	fl->body.broke = 0;
	fl->room.made_at = 0;
	ranges_stop(fl);
	body_drop(fl, false);
}

/* Whether a source that did not break off has another version. */
static bool has_better(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].retry.stale && !fl->attempts[i].retry.broke)
			return true;
	return false;
}

/* If another source has the file, a source that broke off is not asked for a while, because otherwise each flight
 * would begin with the same broken download. */
static void forget_attempts(struct flight *fl)
{
	bool better = has_better(fl);

	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->retry.broke && better)
			attempt_set_aside(at, -EREMOTEIO, "it broke off, and another source has other bytes");
		if (at->state == ATTEMPT_FAILED)
			at->state = ATTEMPT_IDLE;
		at->retry = (struct retry){.renew = true};
	}
}

void body_leave_version(struct flight *fl)
{
	forget_attempts(fl);
	fl->ranges.off = true;
	fl->body.broke_at = 0;
	fl->body.versions_left++;
}

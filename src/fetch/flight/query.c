/* The queries of an attempt: its source is asked for each spelling of the file by a request of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"
#include "source/bucket-key.h"
#include "source/ptr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES_MOST 64 /* a bound for a plan that does not end */
#define KEPT_MS 10000 /* how long an answer waits for its flight, which first looks into the store and directories */

/* ---- wrong files and missing spellings, remembered in memory ----------------------------------------------- */

/* seen_number() of the query's request */
static uint64_t query_number(const struct query *q)
{
	return seen_number(q->attempt->flight->number, q->attempt->source, &q->ask);
}

const struct mismatch *mismatch_find(const struct query *q)
{
	struct fetch *f = q->attempt->flight->f;
	uint64_t now = clock_ms(), asked = query_number(q);

	for (size_t i = 0; i < MISMATCHES; i++) {
		const struct mismatch *m = &f->mismatches[i];

		if (m->asked == asked && m->until > now)
			return m;
	}
	return NULL;
}

void attempt_set_aside(const struct attempt *at, int error, const char *text)
{
	struct fetch *f = at->flight->f;
	struct mismatch *m = &f->mismatches[f->next_mismatch++ % MISMATCHES];

	*m = (struct mismatch){.until = clock_ms() + MISMATCH_MS, .error = error,
		.asked = seen_number(at->flight->number, at->source, &at->ask)};
	snprintf(m->text, sizeof(m->text), "%.190s", text);
}

void mismatch_add(const struct attempt *at, int error, const char *text)
{
	attempt_set_aside(at, error, text);
	atomic_fetch_add(&at->flight->f->stats.mismatches, 1);
	log_warn("%s: source %s sent %s: %s", at->flight->canon, at->source->name,
		error == -EFBIG ? "too much" : "the wrong file", text);
}

static bool absent_find(const struct query *q)
{
	uint64_t asked = query_number(q);
	const struct absent *a = &q->attempt->flight->f->absents[asked % ABSENT_MOST];

	return a->asked == asked && a->until > clock_ms();
}

void absent_add(const struct attempt *at)
{
	int64_t least = MIN(at->source->o.miss_seconds, MISMATCH_MS / 1000);

	for (unsigned i = 0; i < at->n_queries; i++) {
		uint64_t asked = query_number(&at->queries[i]);

		if (at->queries[i].state == QUERY_MISSING)
			at->flight->f->absents[asked % ABSENT_MOST] =
				(struct absent){clock_ms() + (uint64_t)MAX(least, 0) * 1000, asked};
	}
}

/* ---- the plan ----------------------------------------------------------------------------------------------- */

/* Whether the version that readers have came from this spelling. If so, only this spelling is asked for. */
static bool is_of_version(const struct attempt *at, const struct source_ask *ask)
{
	const struct version *v = &at->flight->body.version;

	return v->source == at->source && v->where && strcmp(v->where, ask->where) == 0;
}

/* Sorts the spellings: those most like the requests that found earlier files come first. */
static void sort_asks(const struct attempt *at, struct source_ask *asks, unsigned n)
{
	unsigned like[QUERIES_MOST];

	for (unsigned i = 0; i < n; i++) {
		struct source_ask ask = asks[i];
		unsigned l = ask.late ? 0 : source_likeness(&at->facts.taught, at->flight->key.type, ask.code), j = i;

		for (; j && like[j - 1] < l; j--) {
			asks[j] = asks[j - 1];
			like[j] = like[j - 1];
		}
		asks[j] = ask;
		like[j] = l;
	}
}

int queries_plan(struct attempt *at)
{
	struct source_ask asks[QUERIES_MOST];
	unsigned n = 0;
	int r = 0;

	while (n < QUERIES_MOST &&
		(r = source_plan(at->source, &at->facts, &at->flight->what, n, &asks[n])) == 0)
		n++;
	at->queries = calloc(n + 1, sizeof(*at->queries));
	if (!at->queries || (r < 0 && r != -ENOENT)) {
		while (n)
			source_ask_release(&asks[--n]);
		free(take(at->queries));
		return r < 0 && r != -ENOENT ? r : -ENOMEM;
	}
	sort_asks(at, asks, n);
	at->n_queries = n;
	at->likely = n && at->facts.taught.spelling[at->flight->key.type] ? at->queries : NULL;
	for (unsigned i = 0; i < n; i++) {
		struct query *q = &at->queries[i];

		*q = (struct query){.attempt = at, .ask = asks[i], 
			.ptr = BUF_UP_TO((asks[i].leads ? BUCKET_KEY_MOST : PTR_MOST) + 1)};
		if (absent_find(q)) {
			q->state = QUERY_MISSING;
			if (at->likely == q)
				at->likely = NULL;
		}
		if (is_of_version(at, &q->ask))
			at->likely = q;
	}
	return 0;
}

void queries_release(struct attempt *at)
{
	for (unsigned i = 0; i < at->n_queries; i++) {
		source_ask_release(&at->queries[i].ask);
		buf_release(&at->queries[i].ptr);
	}
	free(take(at->queries));
	at->n_queries = 0;
	at->likely = at->answering = NULL;
	at->ask = (struct source_ask){0};
}

/* ---- queries that run --------------------------------------------------------------------------------------- */

bool queries_cancel(struct attempt *at, const struct query *except)
{
	bool any = false;

	for (unsigned i = 0; i < at->n_queries; i++) {
		struct query *q = &at->queries[i];

		if (q == except || !q->transfer)
			continue;
		transfer_cancel(take(q->transfer));
		any = true;
		if (q->state == QUERY_ASKING)
			q->state = QUERY_IDLE;
	}
	return any;
}

bool queries_run(const struct attempt *at)
{
	for (unsigned i = 0; i < at->n_queries; i++)
		if (at->queries[i].transfer)
			return true;
	return false;
}

struct query *queries_first(const struct attempt *at, enum query_state state)
{
	for (unsigned i = 0; i < at->n_queries; i++)
		if (at->queries[i].state == state)
			return &at->queries[i];
	return NULL;
}

bool queries_are_queued(const struct attempt *at)
{
	bool queued = false;

	for (unsigned i = 0; i < at->n_queries; i++) {
		const struct transfer *t = at->queries[i].transfer;

		if (t && !transfer_is_queued(t))
			return false;
		queued |= t != NULL;
	}
	return queued;
}

uint64_t queries_turn(const struct attempt *at)
{
	uint64_t turn = 0;

	for (unsigned i = 0; i < at->n_queries; i++)
		if (at->queries[i].transfer)
			turn = MAX(turn, transfer_its_turn(at->queries[i].transfer));
	return turn;
}

/* ---- the request -------------------------------------------------------------------------------------------- */

/* Adds a Range line: for the first bytes only, or for the rest of a download that broke off, if the source can
 * compare versions. Otherwise the request is for the whole file. */
static int query_add_range(struct query *q, struct net_req *req)
{
	const struct flight *fl = q->attempt->flight;
	const struct version *v = &fl->body.version;
	const char *validator = version_validator(v);
	char line[256];
	int r;

	q->asked_from = 0;
	q->asked_range = ranges_wanted(q, &q->open_ended) && !fl->readers.part;
	q->open_ended &= q->asked_range;
	if (q->asked_range) {
		req->coded = true; /* some sources have only a compressed file */
		snprintf(line, sizeof(line), "Range: bytes=0-%u", EARLY_BYTES - 1);
		return source_add_header(req, q->open_ended ? "Range: bytes=0-" : line);
	}
	if (!fl->readers.part || fl->body.file || !is_of_version(q->attempt, &q->ask) || !validator)
		return 0;
	snprintf(line, sizeof(line), "If-Range: %s", validator);
	r = source_add_header(req, line);
	snprintf(line, sizeof(line), "Range: bytes=%llu-", (unsigned long long)body_here(&fl->body));
	if (r == 0)
		r = source_add_header(req, line);
	q->asked_from = body_here(&fl->body);
	return r;
}

/* Sends X-Symfs-Via, so that servers which are each other's source detect the loop. */
static int add_hops(const struct flight *fl, struct net_req *req)
{
	char line[ARTIFACT_VIA + 16];

	if (!fl->asked.via[0])
		return 0;
	snprintf(line, sizeof(line), "X-Symfs-Via: %s", fl->asked.via);
	return source_add_header(req, line);
}

int query_send(struct query *q, const struct net_sink *sink)
{
	const struct flight *fl = q->attempt->flight;
	struct fetch *f = fl->f;
	struct net_req req;
	int r = source_request(q->attempt->source, &q->ask, &req);

	if (r < 0)
		return r;
	if (!req.most)
		req.most = f->opts.max_file_size;
	req.rank = NET_FIRST;
	r = add_hops(fl, &req);
	if (r == 0)
		r = query_add_range(q, &req);
	if (r == 0)
		r = net_get(f->net, &req, sink, q, &q->transfer);
	net_req_release(&req);
	if (r < 0)
		return r;
	buf_clear(&q->ptr);
	q->state = QUERY_ASKING;
	q->sent = clock_ms();
	atomic_fetch_add(&f->stats.requests, 1);
	return 0;
}

/* ---- kept answers ------------------------------------------------------------------------------------------- */

/* Answers kept for the next meaning of a path. Each meaning is a key with a flight of its own; the flight of the key
 * that the file has continues the answer, so the source sends the file once. */

static void kept_drop(void *ctx)
{
	struct kept *k = ctx;

	net_timer_stop(k->net, &k->over);
	if (k->transfer)
		transfer_cancel(take(k->transfer));
	k->asked = 0;
}

static int kept_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	return -EAGAIN;
}

static void kept_done(void *ctx, const struct net_reply *r)
{
	struct kept *k = ctx;

	k->transfer = NULL;
	kept_drop(k);
}

void kept_add(struct query *q, const struct net_reply *r)
{
	static const struct net_sink sink = {.body = kept_body, .done = kept_done};
	const struct attempt *at = q->attempt;
	struct fetch *f = at->flight->f;
	uint64_t asked = seen_number(0, at->source, &q->ask);
	struct kept *k = &f->kept[asked % KEPT_MOST];

	if (k->asked)
		kept_drop(k);
	*k = (struct kept){.net = f->net, .asked = asked, .transfer = take(q->transfer), .reply = *r,
		.asked_range = q->asked_range, .open_ended = q->open_ended, .head_n = at->answer.head_n};
	memcpy(k->head, at->answer.head, at->answer.head_n);
	if (k->transfer)
		transfer_hand_over(k->transfer, &sink, k);
	net_timer_set(f->net, &k->over, KEPT_MS, kept_drop, k);
}

bool kept_take(struct query *q, const struct net_sink *sink, struct net_reply *r)
{
	struct attempt *at = q->attempt;
	uint64_t asked = seen_number(0, at->source, &q->ask);
	struct kept *k = &at->flight->f->kept[asked % KEPT_MOST];

	if (k->asked != asked || at->flight->readers.part)
		return false;
	q->transfer = take(k->transfer);
	q->asked_range = k->asked_range;
	q->open_ended = k->open_ended;
	*r = k->reply;
	at->answer.head_n = k->head_n;
	memcpy(at->answer.head, k->head, k->head_n);
	if (q->transfer)
		transfer_hand_over(q->transfer, sink, q);
	kept_drop(k);
	return true;
}

/* The queries of an attempt: its source is asked for each spelling of the file by a request of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/util.h"
#include "fetch/flight.h"
#include "source/bucket-key.h"
#include "source/ptr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES_MOST 64 /* a bound for a plan that does not end */

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
	q->open_ended = false;
	q->asked_range = !fl->readers.part && ranges_wanted(q);
	if (q->asked_range) {
		req->coded = true; /* some sources have only a compressed file */
		q->open_ended = ranges_open_ended(q);
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

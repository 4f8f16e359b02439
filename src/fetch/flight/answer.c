/* Judges the head and the first bytes of a source's answer: which part of the file it has, of which version, and
 * whether it can be the right file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <stdio.h>
#include <string.h>

/* Whether the answer is the rest of the download that broke off, in the same version. */
static bool is_rest(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;
	uint64_t from = at->answering->asked_from;

	return from && r->status == 206 && r->range_start == (int64_t)from &&
		r->range_total == (int64_t)part_size(fl->readers.part) &&
		same_version(&fl->body.version, r);
}

/* Whether the answer is a range of another version: some servers ignore If-Range. */
static bool is_other_version(const struct attempt *at, const struct net_reply *r)
{
	const struct flight *fl = at->flight;

	return at->answering->asked_from && r->status == 206 &&
		(r->range_total != (int64_t)part_size(fl->readers.part) || !same_version(&fl->body.version, r));
}

/* Some servers send status 200 instead of 206 if the range is the whole file. */
static int64_t total_of(const struct attempt *at, const struct net_reply *r)
{
	return at->answering->open_ended && r->status == 200 && r->ranges ? r->size : r->range_total;
}

static bool is_versioned(const struct net_reply *r)
{
	return (r->etag[0] && strncmp(r->etag, "W/", 2) != 0) || r->modified[0];
}

/* Whether the answer is the first range that was asked for, or the whole of a file that is shorter. */
static bool is_first(const struct attempt *at, const struct net_reply *r)
{
	int64_t total = total_of(at, r);
	bool begins = r->status == 206 ? r->range_start == 0 : r->status == 200 && is_versioned(r);

	return at->answering->asked_range && begins && total > 0 &&
		r->size == (at->answering->open_ended ? total : MIN(total, (int64_t)EARLY_BYTES));
}

/* Whether the answer to a range request is useless. Without a validator, later ranges may be of another version, so
 * the source must send the whole file in one answer. */
static bool is_useless(struct attempt *at, const struct net_reply *r)
{
	uint64_t most = fetch_most(at->flight->f, at->source);

	if (!at->answering->asked_range || (r->status != 416 && r->status != 206))
		return false;
	if (is_first(at, r) && most && (uint64_t)r->range_total > most)
		return true; /* a request for the whole file will report that it is too large */
	if (is_first(at, r) && (is_versioned(r) || r->range_total <= EARLY_BYTES))
		return false;
	if (r->status == 206)
		ranges_refuse(at->flight->f, at->source);
	return true;
}

/* From now on the answer of this query is the attempt's answer. */
static void take_answer(struct query *q, const struct net_reply *r)
{
	struct attempt *at = q->attempt;
	struct answer *a = &at->answer;

	at->answering = q;
	at->ask = q->ask;
	a->here = true;
	a->size = r->size;
	snprintf(a->etag, sizeof(a->etag), "%s", r->etag);
	snprintf(a->modified, sizeof(a->modified), "%s", r->modified);
	snprintf(a->made, sizeof(a->made), "%s", r->made);
}

enum answer_part answer_take(struct query *q, const struct net_reply *r, struct net_reply *as_whole)
{
	struct attempt *at = q->attempt;
	struct answer *a = &at->answer;

	take_answer(q, r);
	if (is_useless(at, r))
		return ANSWER_USELESS;
	if (is_other_version(at, r))
		return ANSWER_OTHER_VERSION;
	*as_whole = *r;
	a->ranged = is_first(at, r);
	if (q->asked_range && r->status == 200 && !a->ranged && r->size > EARLY_BYTES)
		ranges_refuse(at->flight->f, at->source);
	if (a->ranged || is_rest(at, r)) {
		as_whole->status = 200;
		as_whole->size = a->ranged ? total_of(at, r) : r->range_total;
		a->from = a->ranged ? 0 : q->asked_from;
		if (a->ranged && as_whole->size <= EARLY_BYTES)
			a->ranged = false; /* the body is the whole file */
		a->size = as_whole->size;
	}
	return ANSWER_USABLE;
}

/* Whether the file is a fat Mach-O file. Only one slice of it is served, and the slice's size is in a table that
 * was not read yet. No other type begins with these bytes. */
static bool is_fat(const void *head, size_t n)
{
	return n >= OBJ_HEAD && memcmp(head, "\xca\xfe\xba", 3) == 0;
}

/* A bit for each type that can begin with these bytes. Programs and their debug files begin alike. */
static uint32_t alike(const void *head, size_t n)
{
	uint32_t bits = 0;

	for (unsigned t = 0; t < FILETYPES; t++)
		if (filetypes[t].twin != FILETYPE_NONE && obj_may_be(t, head, n))
			bits |= 1u << t;
	return bits;
}

/* Whether the file can be of the key. `all`: it has no further bytes. */
static bool fits(const void *head, size_t n, bool all, const struct key *k)
{
	struct view v = view_of_mem(head, n);
	struct obj_slice slice;

	if (!all)
		v.size = VIEW_UNKNOWN;
	return obj_may_be(k->type, head, n) && obj_check(&v, k, &slice, NULL) != -EBADMSG;
}

/* Whether the source is asked for the artifact by the same request. */
static bool asks_alike(const struct attempt *at, const struct artifact *a)
{
	struct source_ask ask = {0};
	bool alike = false;

	for (unsigned i = 0; !alike && source_plan(at->source, &at->facts, a, i, &ask) == 0; i++) {
		alike = strcmp(ask.where, at->ask.where) == 0;
		source_ask_release(&ask);
	}
	return alike;
}

/* Whether the file is not of the flight's key, but can be what the path of each request means next. */
static bool is_other_meaning(const struct attempt *at, const void *head, size_t n, bool all)
{
	const struct ticket *t = at->flight->tickets;
	bool other = t && !fits(head, n, all, &at->flight->own);
	struct key k;

	for (; other && t; t = t->next) {
		const struct artifact *a = &t->cands[t->at + 1];

		for (other = false; !other && a < &t->cands[t->n]; a++)
			other = key_of(&k, a) == 0 && fits(head, n, all, &k) && asks_alike(at, a);
	}
	return other;
}

/* A packed file can be the right file as long as its inside is not visible. */
bool answer_may_win(struct attempt *at, const void *head, size_t n, bool all)
{
	enum filetype t = at->flight->key.type;
	uint8_t inside[OBJ_HEAD];

	at->answer.parted = is_fat(head, n);
	at->answer.packing = packed_as(t, head, n);
	if (at->answer.packing) {
		n = packed_inside(at->answer.packing, head, n, all, inside);
		head = inside;
		at->answer.unsure = !n;
		if (at->answer.unsure)
			return true;
	}
	at->answer.may_be = alike(head, n);
	at->answer.other = is_other_meaning(at, head, n, all && !at->answer.packing);
	return at->answer.other || obj_may_be(t, head, n);
}

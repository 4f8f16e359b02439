/* Only the bytes that are needed: a file from a server that answers ranges is filled where its readers
 * look, or from front to back when they will want most of it. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 4		/* requests of one file */
#define GAP (128u << 10)	/* of bytes that are here, or not wanted: cheaper than a request */
#define WINDOW_LEAST (256u << 10)
#define WINDOW_MOST (4u << 20)
#define ERRORS_MOST 3		/* in a row, before another way is taken */
#define AGAIN_MS 100
#define LOOK_MS 200		/* for other processes that want all of it */
#define TOUCHED_PERCENT 35	/* who wants so much wants all */

struct range {
	struct range *next;
	struct flight *fl;
	struct transfer *transfer;
	uint64_t off, end, at;
	bool fills; /* nobody waits for it in particular */
	bool yields; /* to others at its host; what is left of it is asked for again */
	int error;
};

/* ---- may a source be asked so? ------------------------------------------------------ */

static struct no_ranges *no_ranges_of(struct fetch *f, const struct source *s)
{
	return &f->no_ranges[hash_mix(s->name, strlen(s->name)) % NO_RANGES];
}

void ranges_refuse(struct fetch *f, const struct source *s)
{
	no_ranges_of(f, s)->until = clock_ms() + NO_RANGES_MS;
}

/* Of these some are read here and there. */
static bool is_random(enum filetype t)
{
	return t == FILETYPE_PDB || t == FILETYPE_PE || t == FILETYPE_ELF_CODE || t == FILETYPE_ELF_DEBUG ||
		t == FILETYPE_MACH_CODE || t == FILETYPE_MACH_DEBUG;
}

static bool wants_all(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need == FETCH_WHOLE || t->need == FETCH_STREAM)
			return true;
	return fl->all;
}

bool ranges_wanted(const struct attempt *at)
{
	const struct flight *fl = at->flight;
	const struct source *s = at->source;

	return !fl->plain && !at->plain && !at->ask.ptr && s->kind != &source_debuginfod &&
		strcmp(s->layout->name, "debuginfod") != 0 && is_random(fl->own.type) &&
		!wants_all(fl) && no_ranges_of(fl->f, s)->until < clock_ms();
}

bool same_version(const struct flight *fl, const struct net_reply *r)
{
	return (!r->etag[0] || !fl->first_etag[0] || strcmp(r->etag, fl->first_etag) == 0) &&
		(!r->modified[0] || !fl->first_modified[0] ||
			strcmp(r->modified, fl->first_modified) == 0);
}

/* ---- one request -------------------------------------------------------------------- */

static void range_free(struct range *rg)
{
	struct range **at = &rg->fl->ranges;

	while (*at && *at != rg)
		at = &(*at)->next;
	if (*at)
		*at = rg->next;
	free(rg);
}

static int range_head(void *ctx, const struct net_reply *r)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;

	if (r->status == 206 && r->range_start == (int64_t)rg->off &&
		r->range_total == (int64_t)fl->size && same_version(fl, r) &&
		(r->size < 0 || r->size == (int64_t)(rg->end - rg->off)))
		return 0;
	/* Another version, or no ranges any more: else it is trouble that may pass. */
	rg->error = r->status == 200 || r->status == 206 || r->status == 416 ? -ESTALE : -EHOSTUNREACH;
	return -ECANCELED;
}

static int range_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;
	int r;

	if (fl->making_room || (fl->parked && rg->fills))
		return -EAGAIN;
	if (off > rg->end - rg->off || n > rg->end - rg->off - off) {
		rg->error = -ESTALE;
		return -ECANCELED;
	}
	r = sparse_write(fl->sparse, rg->off + off, p, n);
	if (r == -ENOSPC && work_room(fl, n) == 0)
		return -EAGAIN;
	if (r < 0) {
		if (r == -ESTALE) /* it was removed from the store */
			rg->error = r;
		else
			fl->disk_error = r;
		return r;
	}
	rg->at = rg->off + off + n;
	fl->range_errors = 0;
	atomic_fetch_add(&fl->f->stats.bytes, n);
	if (fl->part)
		part_advance(fl->part, 0);
	rg->yields = rg->at < rg->end && transfer_should_yield(rg->transfer);
	return rg->yields ? -ECANCELED : 0;
}

/* Ranges do not lead on: what is missing comes with the whole, and what is here is compared. */
static void ranges_off(struct flight *fl, const char *text)
{
	struct attempt *at = fl->winner;

	log_debug(LOG_FETCH, "%s: %s: no ranges: %s", fl->canon, at->source->name, text);
	fl->plain = true;
	at->again = true;
	winner_fail(fl, -EHOSTUNREACH, text);
}

static void again(void *ctx)
{
	ranges_go(ctx);
}

static void range_failed(struct flight *fl, const struct range *rg, const struct net_reply *r)
{
	char text[200];

	snprintf(text, sizeof(text), "%.190s", r->text[0] && r->error != -ECANCELED ? r->text : "an odd answer to a range");
	if (fl->disk_error) {
		log_error("%s: the store: %s", fl->canon, err_text(fl->disk_error));
		flight_fail(fl, fl->disk_error, "the store cannot be written");
	} else if (rg->error == -ESTALE || ++fl->range_errors > ERRORS_MOST) {
		ranges_off(fl, rg->error == -ESTALE ? "another version, or no ranges" : text);
	} else {
		net_timer_set(fl->f->net, &fl->later, AGAIN_MS * fl->range_errors, again, fl);
	}
}

static void range_done(void *ctx, const struct net_reply *r)
{
	struct range *rg = ctx, copy = *rg;
	struct flight *fl = rg->fl;

	range_free(rg);
	if (copy.yields)
		log_debug(LOG_FETCH, "%s: yields at byte %" PRIu64, fl->canon, copy.at);
	else if (r->error < 0 || copy.error < 0 || copy.at != copy.end) {
		range_failed(fl, &copy, r);
		return;
	}
	if (sparse_is_due(fl->sparse))
		work_commit(fl);
	ranges_go(fl);
}

static const struct net_sink sink = {range_head, range_body, range_done};

/* Who waits to hear what it is goes before those who know. */
static enum net_rank rank_of(const struct range *rg)
{
	struct flight *fl = rg->fl;
	uint64_t off, end;

	if (!fl->sure && !rg->fills)
		return NET_FIRST;
	for (unsigned i = 0; fl->part && part_wanted(fl->part, i, &off, &end); i++)
		if (off < rg->end && rg->off < end)
			return NET_WANTED;
	return fl->tickets ? NET_WANTED : NET_SPARE;
}

static int range_request(struct flight *fl, struct range *rg)
{
	bool strong = fl->first_etag[0] && strncmp(fl->first_etag, "W/", 2) != 0;
	char line[256];
	struct net_req req;
	int r = source_request(fl->winner->source, &fl->winner->ask, &req);

	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "If-Range: %s", strong ? fl->first_etag : fl->first_modified);
	req.rank = rank_of(rg);
	r = source_add_header(&req, line);
	snprintf(line, sizeof(line), "Range: bytes=%" PRIu64 "-%" PRIu64, rg->off, rg->end - 1);
	if (r == 0)
		r = source_add_header(&req, line);
	if (r == 0)
		r = net_get(fl->f->net, &req, &sink, rg, &rg->transfer);
	net_req_release(&req);
	return r;
}

static int range_start(struct flight *fl, uint64_t off, uint64_t end, bool fills)
{
	struct range *rg = calloc(1, sizeof(*rg));
	int r;

	if (!rg)
		return -ENOMEM;
	*rg = (struct range){.fl = fl, .off = off, .end = end, .at = off, .fills = fills};
	r = range_request(fl, rg);
	if (r < 0) {
		free(rg);
		return r;
	}
	rg->next = fl->ranges;
	fl->ranges = rg;
	atomic_fetch_add(&fl->f->stats.requests, 1);
	log_debug(LOG_FETCH, "%s: bytes %" PRIu64 "-%" PRIu64 "%s", fl->canon, off, end - 1,
		fills ? ", to the next that are here" : "");
	return 0;
}

void ranges_stop(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->later);
	while (fl->ranges) {
		transfer_cancel(fl->ranges->transfer);
		range_free(fl->ranges);
	}
	fl->ranged = false;
	if (fl->part)
		part_spare(fl->part, false);
}

void ranges_resume(struct flight *fl)
{
	for (struct range *rg = fl->ranges; rg; rg = rg->next)
		transfer_resume(rg->transfer);
	ranges_go(fl);
}

/* ---- which ranges ------------------------------------------------------------------- */

/* The first bytes from `off` that are neither here nor on their way; *stop is where the next of
 * either begin. */
static bool first_hole(const struct flight *fl, uint64_t off, uint64_t end, uint64_t *from, uint64_t *stop)
{
	struct sparse_hole h;

	while (off < end && sparse_missing(fl->sparse, off, end - off, &h)) {
		uint64_t at = h.off, to = h.off + h.n;
		bool moved = false;

		for (const struct range *rg = fl->ranges; rg; rg = rg->next) {
			if (rg->off <= at && at < rg->end) {
				at = rg->end;
				moved = true;
			} else if (rg->off > at) {
				to = MIN(to, rg->off);
			}
		}
		if (!moved && at < to) {
			*from = at;
			*stop = to;
			return true;
		}
		off = at;
	}
	return false;
}

static unsigned count(const struct flight *fl, bool fills)
{
	unsigned n = 0;

	for (const struct range *rg = fl->ranges; rg; rg = rg->next)
		n += rg->fills == fills;
	return n;
}

/* How much further a reader goes who went there from where the last window ended: each time twice as
 * far. One who jumps gets what he asked for. */
static uint64_t read_ahead(struct flight *fl, uint64_t from, uint64_t to)
{
	struct run *run = NULL;

	for (unsigned i = 0; i < RUNS; i++)
		if (fl->runs[i].next && from <= fl->runs[i].next + GAP &&
			from + SPARSE_BLOCK >= fl->runs[i].next)
			run = &fl->runs[i];
	if (!run) {
		run = &fl->runs[fl->next_run++ % RUNS];
		run->window = WINDOW_LEAST / 2;
	} else {
		run->window = MIN(run->window * 2, WINDOW_MOST);
		to = MAX(to, MIN(from + run->window, fl->size));
	}
	run->next = to;
	return to;
}

/* One more request for what somebody waits for. False: there is none to make. */
static bool demand(struct flight *fl, uint64_t off, uint64_t end)
{
	uint64_t from, stop, to, next, next_stop;

	if (!first_hole(fl, off, end, &from, &stop))
		return false;
	to = MIN(stop, MAX(end, from + 1) + SPARSE_BLOCK - 1);
	to = MIN(to - to % SPARSE_BLOCK, fl->size);
	if (to <= from)
		to = MIN(from - from % SPARSE_BLOCK + SPARSE_BLOCK, fl->size);
	to = read_ahead(fl, from, to);
	/* What is left before the end is no request of its own. */
	if (fl->size - to <= SPARSE_BLOCK)
		to = fl->size;
	/* Over short runs of what is here; not into what is on its way. */
	next = stop;
	while (next < to && first_hole(fl, next, to, &next, &next_stop) && next - stop <= GAP)
		stop = next = next_stop;
	to = MIN(to, stop);
	fl->touched += to - from;
	return range_start(fl, from, to, false) == 0;
}

static void fill(struct flight *fl)
{
	uint64_t from, stop;

	if (count(fl, true))
		return;
	if (!first_hole(fl, fl->fill_at, fl->size, &from, &stop) && !first_hole(fl, 0, fl->size, &from, &stop))
		return;
	fl->fill_at = stop;
	range_start(fl, from, stop, true);
}

static void pump(struct flight *fl)
{
	uint64_t off, end;

	if (fl->want_len && count(fl, false) < AT_ONCE)
		demand(fl, fl->want_off, MIN(fl->want_off + fl->want_len, fl->size));
	for (unsigned i = 0; fl->part && count(fl, false) < AT_ONCE && part_wanted(fl->part, i, &off, &end); i++)
		while (count(fl, false) < AT_ONCE && demand(fl, off, end))
			;
	if (fl->fill && !fl->parked)
		fill(fl);
	for (struct range *rg = fl->ranges; rg; rg = rg->next)
		transfer_set_rank(rg->transfer, rank_of(rg));
}

/* Another process wants all of it. */
static void look(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->ranged || fl->parked || fl->state != FLIGHT_BODY)
		return;
	net_timer_set(fl->f->net, &fl->poll, LOOK_MS, look, fl);
	if (!fl->fill && flights_wanted(fl->f->store, fl->number)) {
		fl->fill = true;
		ranges_go(fl);
	}
}

void ranges_go(struct flight *fl)
{
	if (!fl->ranged || fl->state != FLIGHT_BODY || fl->making_room || fl->later.due)
		return;
	if (!fl->sparse) {
		if (!fl->parked)
			work_sparse(fl);
		return;
	}
	if (sparse_is_full(fl->sparse)) {
		if (!fl->probing) {
			ranges_stop(fl); /* all came; some were not told yet that they are over */
			work_seal(fl);
		}
		return;
	}
	if (fl->want_len && sparse_has(fl->sparse, fl->want_off, fl->want_len)) {
		fl->want_len = 0;
		work_probe(fl);
	}
	if (wants_all(fl) || fl->touched * 100 > fl->size * TOUCHED_PERCENT)
		fl->fill = true;
	if (fl->part)
		part_spare(fl->part, !fl->fill);
	pump(fl);
	if (!fl->parked && !fl->poll.due)
		net_timer_set(fl->f->net, &fl->poll, LOOK_MS, look, fl);
	if (!fl->ranges && fl->fill && !fl->parked)
		ranges_off(fl, "out of memory"); /* nothing could be started */
}

void ranges_begin(struct flight *fl)
{
	fl->ranged = true;
	fl->fill = false;
	fl->fill_at = fl->touched = fl->want_len = 0;
	fl->range_errors = 0;
	memset(fl->runs, 0, sizeof(fl->runs));
	ranges_go(fl);
}

/* ---- what workers found ------------------------------------------------------------- */

void ranges_opened(struct flight *fl, int r, struct sparse *sp, const char *text)
{
	if (r < 0) {
		ranges_off(fl, text);
		return;
	}
	fl->sparse = sparse_ref(sp);
	draft_discard(take(fl->draft));
}

void ranges_probed(struct flight *fl, const struct probed *p)
{
	if (p->r == -EBADMSG) {
		winner_fail(fl, -EBADMSG, p->text);
		return;
	}
	if (p->sure || fl->sure)
		flight_sure(fl);
	if (p->r == -EAGAIN || p->sparse == -EAGAIN) {
		fl->want_off = p->want_off;
		fl->want_len = MIN(p->want_len, fl->size - MIN(fl->size, p->want_off));
	} else if (!p->sparse) {
		fl->fill = true;
	}
	/* Nothing more can be told, and it is not told yet: the end says it. */
	if (!fl->want_len && !fl->sure)
		fl->fill = true;
	ranges_go(fl);
}

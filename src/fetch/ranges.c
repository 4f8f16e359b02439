/* Only the bytes that are needed: a file from a server that answers ranges is filled where its readers
 * look, or from front to back when they will want most of it. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"
#include "net/multipart.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define AT_ONCE 4		/* requests of one file */
#define GAP (128u << 10)	/* of bytes that are here, or not wanted: cheaper than a request */
#define HALF_MOST (1u << 20)	/* of a longer one the halves are asked for at once */
#define PIECES_MOST 64		/* of one request: servers refuse very many, and very long lines */
#define SINGLES_MOST 6		/* pieces at once of a server that answers one range at a time */
#define PIECE_HEAD 512		/* what comes with a piece, at most */
#define ERRORS_MOST 3		/* without a block more, before another way is taken */
#define AGAIN_MS 100
#define LEAST_RATE 64		/* bytes in a second: what is slower is asked for again, by another connection */
#define SILENT_MS 30000		/* where the source does not say */
#define LOOK_MS 200		/* for other processes that want all of it */
#define TOUCHED_PERCENT 35	/* who wants so much wants all */

struct range {
	struct range *next;
	struct flight *fl;
	struct transfer *transfer;
	uint64_t off, end, at;
	bool fills; /* nobody waits for it in particular */
	bool yields; /* to others at its host; what is left of it is asked for again */
	uint64_t since, came; /* clock_ms() of a look at how fast it is, and bytes from then on; 0: none yet */
	bool one_only; /* the server answers no more than one range */
	int error;
	/* n: pages here and there, and no blocks. More than one come as parts of one answer. */
	unsigned n;
	struct ahead_span pieces[PIECES_MOST];
	struct multipart parts;
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

static bool takes_several(const struct flight *fl)
{
	return no_ranges_of(fl->f, fl->winner->source)->several_until < clock_ms();
}

static int refuse_several(struct range *rg)
{
	log_debug(LOG_FETCH, "%s: %s: one range at a time", rg->fl->canon, rg->fl->winner->source->name);
	no_ranges_of(rg->fl->f, rg->fl->winner->source)->several_until = clock_ms() + NO_RANGES_MS;
	rg->one_only = true;
	return -ECANCELED;
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

	return !fl->plain && !at->plain && !at->ask.ptr && source_sends_ranges(s) &&
		filetype_is(fl->own.type, TYPE_RANDOM) && !wants_all(fl) && no_ranges_of(fl->f, s)->until < clock_ms();
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

/* Which parts there are is seen as they come. A server that sends all, or what lies between them, too,
 * knows one range only; that it has another version shows when it is asked for that. */
static int several_head(struct range *rg, const struct net_reply *r)
{
	static const char type[] = "multipart/byteranges";
	bool sends = r->status == 206 || r->status == 200 || r->status == 416;

	if (r->status == 206 && strncasecmp(r->type, type, sizeof(type) - 1) == 0 && same_version(rg->fl, r)) {
		rg->parts = (struct multipart){.total = rg->fl->size};
		return 0;
	}
	if (sends)
		return refuse_several(rg);
	rg->error = -EREMOTEIO;
	return -ECANCELED;
}

static int range_head(void *ctx, const struct net_reply *r)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;

	if (rg->n > 1)
		return several_head(rg, r);
	if (r->status == 206 && r->range_start == (int64_t)rg->off &&
		r->range_total == (int64_t)fl->size && same_version(fl, r) &&
		(r->size < 0 || r->size == (int64_t)(rg->end - rg->off)))
		return 0;
	/* Another version, or no ranges any more: else it is trouble that may pass. */
	rg->error = r->status == 200 || r->status == 206 || r->status == 416 ? -ESTALE : -EREMOTEIO;
	return -ECANCELED;
}

static int range_write(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;
	int r;

	if (off < rg->off || n > rg->end - MIN(off, rg->end))
		return -EPROTO; /* a part that nobody asked for */
	r = sparse_write(fl->sparse, off, p, n);
	if (r == -ENOSPC && body_make_room(fl, n) == 0)
		return -EAGAIN;
	if (r < 0) {
		if (r == -ESTALE) /* the disk lost some of it */
			rg->error = r;
		else
			fl->disk_error = r;
	}
	return r;
}

static uint64_t pieces_size(const struct range *rg)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < rg->n; i++)
		n += rg->pieces[i].end - rg->pieces[i].off;
	return n;
}

/* Servers join pieces that are close to each other, so there may be more than was asked for. */
static int several_body(struct range *rg, uint64_t off, const void *p, size_t n)
{
	uint64_t most = 2 * pieces_size(rg) + (uint64_t)rg->n * PIECE_HEAD;
	int r;

	if (off > most || n > most - off)
		return refuse_several(rg);
	r = multipart_feed(&rg->parts, p, n, range_write, rg);
	return r == -EPROTO ? refuse_several(rg) : r;
}

/* Once in the time in which a server may be silent. A server that drips is not silent, and who waits for
 * these bytes would wait for hours, while other connections to it may be well. */
static bool hardly_moves(struct range *rg, size_t n)
{
	const struct source *s = rg->fl->winner->source;
	uint64_t now = clock_ms(), ms = s->o.stall_ms ? s->o.stall_ms : SILENT_MS;
	bool slow;

	if (!rg->since)
		rg->since = now;
	rg->came += n;
	if (now - rg->since < ms)
		return false;
	slow = rg->came < (now - rg->since) * LEAST_RATE / 1000;
	rg->since = now;
	rg->came = 0;
	if (slow)
		log_debug(LOG_FETCH, "%s: %s: a range drips", rg->fl->canon, s->name);
	return slow;
}

static int hold(struct range *rg)
{
	rg->since = rg->came = 0;
	return -EAGAIN;
}

static int range_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;
	int r;

	if (fl->making_room || (fl->parked && rg->fills))
		return hold(rg);
	if (rg->n <= 1 && (off > rg->end - rg->off || n > rg->end - rg->off - off)) {
		rg->error = -ESTALE;
		return -ECANCELED;
	}
	r = rg->n > 1 ? several_body(rg, off, p, n) : range_write(rg, rg->off + off, p, n);
	if (r < 0)
		return r;
	rg->at = rg->n <= 1 ? rg->off + off + n : multipart_is_over(&rg->parts) ? rg->end : rg->off;
	atomic_fetch_add(&fl->f->stats.bytes, n);
	if (fl->part)
		part_advance(fl->part, 0);
	if (rg->at < rg->end && hardly_moves(rg, n))
		return -ECANCELED;
	rg->yields = rg->n <= 1 && rg->at < rg->end && transfer_should_yield(rg->transfer);
	return rg->yields ? -ECANCELED : 0;
}

/* Ranges do not lead on: what is missing comes with the whole, and what is here is compared. */
static void ranges_off(struct flight *fl, const char *text)
{
	struct attempt *at = fl->winner;

	log_debug(LOG_FETCH, "%s: %s: no ranges: %s", fl->canon, at->source->name, text);
	fl->plain = true;
	at->again = true;
	winner_fail(fl, -EREMOTEIO, text);
}

static void again(void *ctx)
{
	ranges_go(ctx);
}

static void range_failed(struct flight *fl, const struct range *rg, const struct net_reply *r)
{
	char text[200];

	snprintf(text, sizeof(text), "%.190s", r->text[0] && r->error != -ECANCELED ? r->text : "an odd answer to a range");
	/* Some bytes of a block are no progress: each time they would be forgotten. */
	if (sparse_present(fl->sparse) > fl->range_had)
		fl->range_errors = 0;
	fl->range_had = sparse_present(fl->sparse);
	if (fl->disk_error) {
		log_error("%s: the store: %s", fl->canon, err_text(fl->disk_error));
		flight_fail(fl, fl->disk_error, "the store cannot be written");
	} else if (rg->error == -ESTALE || r->error == -ETIMEDOUT || ++fl->range_errors > ERRORS_MOST) {
		/* Readers wait for who is silent, and that is long: not three times. */
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
	if (copy.n > 1 && r->error == 0 && copy.at != copy.end)
		refuse_several(&copy); /* it ended too early */
	if (copy.one_only) {
		ranges_go(fl); /* who waits for one of its pieces asks again */
		return;
	}
	if (copy.yields)
		log_debug(LOG_FETCH, "%s: yields at byte %" PRIu64, fl->canon, copy.at);
	else if (r->error < 0 || copy.error < 0 || copy.at != copy.end) {
		range_failed(fl, &copy, r);
		return;
	}
	if (!copy.yields)
		fl->range_errors = 0;
	if (sparse_is_due(fl->sparse))
		sparse_job_commit(fl);
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

static int add_range(struct net_req *req, const struct range *rg)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(8192);
	int r = buf_addf(&line, "Range: bytes=%" PRIu64 "-%" PRIu64, rg->off,
		(rg->n ? rg->pieces[0].end : rg->end) - 1);

	for (unsigned i = 1; r == 0 && i < rg->n; i++)
		r = buf_addf(&line, ",%" PRIu64 "-%" PRIu64, rg->pieces[i].off, rg->pieces[i].end - 1);
	return r < 0 ? r : source_add_header(req, buf_text(&line));
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
	if (r == 0)
		r = add_range(&req, rg);
	if (r == 0)
		r = net_get(fl->f->net, &req, &sink, rg, &rg->transfer);
	net_req_release(&req);
	return r;
}

static int range_send(struct flight *fl, const struct range *what)
{
	struct range *rg = malloc(sizeof(*rg));
	int r;

	if (!rg)
		return -ENOMEM;
	*rg = *what;
	r = range_request(fl, rg);
	if (r < 0) {
		free(rg);
		return r;
	}
	rg->next = fl->ranges;
	fl->ranges = rg;
	atomic_fetch_add(&fl->f->stats.requests, 1);
	log_debug(LOG_FETCH, "%s: bytes %" PRIu64 "-%" PRIu64 "%s", fl->canon, rg->off, rg->end - 1,
		rg->fills ? ", to the next that are here" : rg->n > 1 ? ", pieces" : "");
	return 0;
}

static int range_start(struct flight *fl, uint64_t off, uint64_t end, bool fills)
{
	struct range rg = {.fl = fl, .off = off, .end = end, .at = off, .fills = fills};

	return range_send(fl, &rg);
}

void ranges_stop(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->later);
	while (fl->ranges) {
		transfer_cancel(fl->ranges->transfer);
		range_free(fl->ranges);
	}
	fl->ranged = false;
	fl->queue_at = fl->queued = fl->reached = 0;
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
 * either begin. What is here of the beginning of a block is not asked for again: who yields to others
 * before a block is whole would never get on. */
static bool first_hole(const struct flight *fl, uint64_t off, uint64_t end, uint64_t *from, uint64_t *stop)
{
	struct sparse_hole h;

	while (off < end && sparse_missing(fl->sparse, off, end - off, &h)) {
		uint64_t at = h.off + sparse_piece(fl->sparse, h.off, SPARSE_BLOCK), to = h.off + h.n;
		bool moved = false;

		for (const struct range *rg = fl->ranges; rg; rg = rg->next) {
			if (rg->n)
				continue;
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
		n += !rg->n && rg->fills == fills;
	return n;
}

/* ---- pieces: pages that are wanted here and there, far from each other --------------- */

static bool covers(const struct ahead_span *pieces, unsigned n, uint64_t off, uint64_t end)
{
	for (unsigned i = 0; i < n; i++)
		if (pieces[i].off <= off && end <= pieces[i].end)
			return true;
	return false;
}

static bool comes_in_pieces(const struct flight *fl, uint64_t off, uint64_t end)
{
	for (const struct range *rg = fl->ranges; rg; rg = rg->next)
		if (covers(rg->pieces, rg->n, off, end))
			return true;
	return covers(fl->queue + fl->queue_at, fl->queued - fl->queue_at, off, end);
}

static unsigned requests_for_pieces(const struct flight *fl)
{
	unsigned n = 0;

	for (const struct range *rg = fl->ranges; rg; rg = rg->next)
		n += rg->n != 0;
	return n;
}

/* So many of the queue as go into one request. */
static void send_pieces(struct flight *fl)
{
	unsigned most = takes_several(fl) ? PIECES_MOST : 1;
	struct range rg = {.fl = fl};

	while (rg.n < most && fl->queue_at < fl->queued) {
		const struct ahead_span *s = &fl->queue[fl->queue_at++];

		if (!sparse_has_pieces(fl->sparse, s->off, s->end - s->off))
			rg.pieces[rg.n++] = *s;
	}
	if (!rg.n)
		return;
	rg.off = rg.at = rg.pieces[0].off;
	rg.end = rg.pieces[rg.n - 1].end;
	fl->touched += pieces_size(&rg);
	range_send(fl, &rg); /* or who waits for one asks again */
}

/* Whether who wants [off, end) gets it as one of many. */
static bool demand_pieces(struct flight *fl, uint64_t off, uint64_t end)
{
	struct ahead_span more[AHEAD_BATCH];
	unsigned n;

	if (comes_in_pieces(fl, off, end))
		return true;
	if (fl->fill || fl->queue_at < fl->queued)
		return false;
	n = ahead_hop(&fl->ahead, off, end, more);
	if (!covers(more, n, off, end))
		return false;
	memcpy(fl->queue, more, n * sizeof(*more));
	fl->queue_at = 0;
	fl->queued = n;
	return true;
}

/* ---- what somebody waits for -------------------------------------------------------- */

/* A long one comes faster in two halves. */
static bool start_window(struct flight *fl, uint64_t from, uint64_t to)
{
	uint64_t half = from + (to - from) / 2;

	half -= half % SPARSE_BLOCK;
	if (to - from <= HALF_MOST || half <= from || count(fl, false) + 2 > AT_ONCE)
		return range_start(fl, from, to, false) == 0;
	return range_start(fl, from, half, false) == 0 && range_start(fl, half, to, false) == 0;
}

static void mark_runs(struct flight *fl)
{
	for (unsigned i = 0; fl->part && i < AHEAD_RUNS; i++)
		if (fl->ahead.runs[i].mark)
			part_mark(fl->part, i, fl->ahead.runs[i].mark, fl->ahead.runs[i].next);
}

/* Readers came to what was read ahead for them: so that they need not wait at its end. */
static void go_on(struct flight *fl)
{
	uint64_t from, to, at, stop;

	fl->reached |= part_reached(fl->part);
	for (unsigned i = 0; i < AHEAD_RUNS && count(fl, false) < AT_ONCE; i++) {
		if (!(fl->reached & 1u << i))
			continue;
		fl->reached &= ~(1u << i);
		if (fl->fill || !ahead_go_on(&fl->ahead, i, &from, &to))
			continue;
		for (at = from; count(fl, false) < AT_ONCE && first_hole(fl, at, to, &at, &stop); at = stop) {
			stop = MIN(stop, to + SPARSE_BLOCK - 1 - (to + SPARSE_BLOCK - 1) % SPARSE_BLOCK);
			fl->touched += stop - at;
			if (range_start(fl, at, stop, false) < 0)
				break;
		}
		mark_runs(fl);
	}
}

/* One more request for what somebody waits for. False: there is none to make. */
static bool demand(struct flight *fl, uint64_t off, uint64_t end)
{
	uint64_t from, stop, to, next, next_stop;

	if (demand_pieces(fl, off, end))
		return false;
	if (!first_hole(fl, off, end, &from, &stop))
		return false;
	to = MIN(stop, MAX(end, from + 1) + SPARSE_BLOCK - 1);
	to = MIN(to - to % SPARSE_BLOCK, fl->size);
	if (to <= from)
		to = MIN(from - from % SPARSE_BLOCK + SPARSE_BLOCK, fl->size);
	to = ahead_window(&fl->ahead, from, to);
	to = MIN(to + SPARSE_BLOCK - 1 - (to + SPARSE_BLOCK - 1) % SPARSE_BLOCK, fl->size);
	/* What is left before the end is no request of its own. */
	if (fl->size - to <= SPARSE_BLOCK)
		to = fl->size;
	/* Over short runs of what is here; not into what is on its way. */
	next = stop;
	while (next < to && first_hole(fl, next, to, &next, &next_stop) && next - stop <= GAP)
		stop = next = next_stop;
	to = MIN(to, stop);
	fl->touched += to - from;
	mark_runs(fl);
	if (fl->heads == HEADS_UNKNOWN && ahead_lacks_heads(&fl->ahead, off))
		fl->heads = HEADS_WANTED;
	return start_window(fl, from, to);
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
	if (fl->part)
		go_on(fl);
	while (fl->queue_at < fl->queued && requests_for_pieces(fl) < SINGLES_MOST)
		send_pieces(fl);
	if (fl->fill && !fl->parked)
		fill(fl);
	for (struct range *rg = fl->ranges; rg; rg = rg->next)
		transfer_set_rank(rg->transfer, rank_of(rg));
}

static void open_sparse(struct flight *fl);
static void probe(struct flight *fl);

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
			open_sparse(fl);
		return;
	}
	if (sparse_is_full(fl->sparse)) {
		if (!fl->probing) {
			ranges_stop(fl); /* all came; some were not told yet that they are over */
			flight_say(fl, (struct event){SAID_ALL});
		}
		return;
	}
	if (fl->want_len && sparse_has(fl->sparse, fl->want_off, fl->want_len)) {
		fl->want_len = 0;
		probe(fl);
	}
	if (wants_all(fl) || flight_lingers(fl) || fl->touched * 100 > fl->size * TOUCHED_PERCENT)
		fl->fill = true;
	if (fl->part)
		part_spare(fl->part, !fl->fill);
	pump(fl);
	if (fl->heads == HEADS_WANTED && !fl->want_len)
		probe(fl);
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
	fl->range_had = 0;
	ahead_end(&fl->ahead);
	ahead_begin(&fl->ahead, fl->size);
	fl->heads = HEADS_UNKNOWN;
	ranges_go(fl);
}

/* ---- what workers found ------------------------------------------------------------- */

static void opened(struct flight *fl, struct sparse *sp, const struct probed *p)
{
	if (p->opened < 0) {
		ranges_off(fl, p->text);
		return;
	}
	fl->sparse = sparse_ref(sp);
	fl->fresh = p->fresh;
	sparse_set_idle(sp, fl->parked);
	draft_discard(take(fl->draft));
}

static void learn_walk(struct flight *fl, const struct probed *p)
{
	struct ahead *a = &fl->ahead;

	if (!a->n_tables && !a->units.end) {
		for (unsigned i = 0; i < p->walk.n_tables; i++)
			ahead_table(a, p->walk.tables[i].off, p->walk.tables[i].n);
		a->units = (struct ahead_span){p->walk.units.off, p->walk.units.off + p->walk.units.n};
	}
	if (p->heads && p->sparse == 1 && p->n_heads != -EAGAIN) {
		fl->heads = HEADS_KNOWN;
		ahead_heads(a, p->heads, (unsigned)MAX(p->n_heads, 0)); /* or there is no hopping */
	}
}

static void learn_probed(struct flight *fl, const struct probed *p)
{
	if (p->r == -EBADMSG || p->r == -ENOENT) {
		winner_fail(fl, p->r, p->text);
		return;
	}
	if (p->sure || fl->sure)
		flight_sure(fl);
	learn_walk(fl, p);
	if (p->r == -EAGAIN || p->sparse == -EAGAIN || (p->sparse == 1 && p->heads && p->n_heads == -EAGAIN)) {
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

static void probed(struct flight *fl, const struct attempt *winner, struct sparse *sp, const struct probed *p)
{
	fl->probing = false;
	if (fl->dead || fl->state != FLIGHT_BODY || fl->winner != winner || !fl->ranged)
		return;
	if (p->opens)
		opened(fl, sp, p);
	if (!p->opens || p->opened == 0)
		learn_probed(fl, p);
}

static void open_sparse(struct flight *fl)
{
	if (fl->probing)
		return;
	fl->probing = true;
	if (probe_first(fl, probed) < 0)
		flight_say_no_memory(fl);
}

static void probe(struct flight *fl)
{
	uint64_t *heads = NULL;

	if (fl->probing)
		return;
	if (fl->heads == HEADS_WANTED) {
		heads = calloc(HEADS_MOST, sizeof(*heads));
		fl->heads = heads ? HEADS_WANTED : HEADS_KNOWN;
	}
	fl->probing = true;
	if (probe_again(fl, heads, probed) < 0)
		flight_say_no_memory(fl);
}

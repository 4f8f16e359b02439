/* Byte ranges: downloads the ranges that readers need from a server that supports ranges. If the readers will
 * need most of the file, the download goes from front to back. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/range.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 4		/* the most requests for one file at once */
#define GAP (128u << 10)	/* downloading a gap up to this size costs less than another request */
#define HALF_MOST (1u << 20)	/* bytes: the halves of a longer range are requested at once */
/* pieces requested at once from a server that answers only one range for each request */
#define SINGLES_MOST 6
#define ERRORS_MOST 3		/* after more errors in a row without a new block, ranges are given up */
#define AGAIN_MS 100
#define LOOK_MS 200		/* milliseconds between checks whether other processes want the whole file */
#define BESIDE_SHARE 16	/* up to 1/16 of a file is fetched while a stream fills it */
/* readers always wait for this many next bytes of a stream, instead of requesting them */
#define SOON_LEAST (1u << 20)
#define SCATTERED_MOST 1024	/* the most waits of readers that are examined for one queue of pieces */
#define TOUCHED_PERCENT 35	/* if requests touched this share of the file, all of it is downloaded */

/* Gives up ranges that make no progress. The whole file is downloaded, and compared with the bytes present. */
static void ranges_off(struct flight *fl, const char *text)
{
	struct attempt *at = fl->body.winner;

	log_debug(LOG_FETCH, "%s: %s: no ranges: %s", fl->canon, at->source->name, text);
	fl->ranges.off = true;
	at->retry.soon = true;
	flight_say(fl, (struct event){SAID_BODY_FAILED, .error = -EREMOTEIO, .text = text});
}

static void ranges_again(void *ctx)
{
	ranges_go(ctx);
}

static void range_failed(struct flight *fl, const struct range *rg, const struct net_reply *r)
{
	char text[200];

	snprintf(text, sizeof(text), "%.190s",
		r->text[0] && r->error != -ECANCELED ? r->text : "an odd answer to a range");
	/* An incomplete block is not progress, because its bytes would be discarded each time. */
	if (sparse_present(fl->body.file) > fl->ranges.had)
		fl->ranges.errors = 0;
	fl->ranges.had = sparse_present(fl->body.file);
	if (fl->ranges.disk_error) {
		log_error("%s: cannot be stored: %s", fl->canon, err_text(fl->ranges.disk_error));
		flight_say(fl, (struct event){SAID_FAILED, .error = fl->ranges.disk_error,
			.text = "the store cannot be written"});
	} else if (rg->error == -ESTALE || r->error == -ETIMEDOUT || ++fl->ranges.errors > ERRORS_MOST) {
		/* With a silent source readers wait for the whole stall timeout, so no second request is tried. */
		ranges_off(fl, rg->error == -ESTALE ? "another version, or no ranges" : text);
	} else {
		net_timer_set(fl->f->net, &fl->ranges.later, AGAIN_MS * fl->ranges.errors, ranges_again, fl);
	}
}

static void range_over(struct flight *fl, const struct range *rg, const struct net_reply *r)
{
	if (rg->one_only) {
		ranges_go(fl); /* requests the pieces that readers still need */
		return;
	}
	if (rg->yields) {
		log_debug(LOG_FETCH, "%s: a range request stops at byte %" PRIu64 " to let another request run",
			fl->canon, rg->at);
	} else if (r->error < 0 || rg->error < 0 || rg->at != rg->end) {
		range_failed(fl, rg, r);
		return;
	}
	if (!rg->yields)
		fl->ranges.errors = 0;
	if (sparse_is_due(fl->body.file))
		sparse_job_commit(fl);
	ranges_go(fl);
}

static int range_start(struct flight *fl, uint64_t off, uint64_t end, bool fills)
{
	struct range rg = {.fl = fl, .over = range_over, .off = off, .end = end, .at = off, .fills = fills};

	return range_send(&rg);
}

void ranges_stop(struct flight *fl)
{
	net_timer_stop(fl->f->net, &fl->ranges.later);
	net_timer_stop(fl->f->net, &fl->ranges.others);
	while (fl->ranges.list)
		range_cancel(fl->ranges.list);
	fl->ranges.on = false;
	fl->ranges.queue_at = fl->ranges.queued = fl->ranges.reached = 0;
	if (fl->readers.part)
		part_spare(fl->readers.part, false);
}

void ranges_resume(struct flight *fl)
{
	for (struct range *rg = fl->ranges.list; rg; rg = rg->next)
		transfer_resume(rg->transfer);
	ranges_go(fl);
}

/* ---- which ranges ------------------------------------------------------------------- */

/* Returns the offset that the stream which fills the file will reach after two round trips. A request of its own is
 * faster for bytes after that offset. */
static uint64_t reach_of(const struct flight *fl, const struct range *rg)
{
	struct speed s;
	uint64_t soon;

	if (!rg->fills || fl->ranges.beside > fl->body.size / BESIDE_SHARE)
		return rg->end;
	s = net_speed(fl->f->net, fl->body.winner->source->origin);
	soon = (uint64_t)(2 * speed_rate(&s) * speed_round_us(&s) / 1e6);
	return rg->at + MIN(rg->end - rg->at, MAX(soon, SOON_LEAST));
}

/* The first bytes from `off` that are neither present nor requested. *stop: the next byte that is present or
 * requested. Skips the present part of a block, because otherwise a range that yields inside a block would never
 * make progress. */
static bool first_hole(const struct flight *fl, uint64_t off, uint64_t end, uint64_t *from, uint64_t *stop)
{
	struct sparse_hole h;

	while (off < end && sparse_missing(fl->body.file, off, end - off, &h)) {
		uint64_t at = h.off + sparse_piece(fl->body.file, h.off, SPARSE_BLOCK), to = h.off + h.n;
		bool moved = false;

		for (const struct range *rg = fl->ranges.list; rg; rg = rg->next) {
			if (rg->n)
				continue;
			if (rg->off <= at && at < reach_of(fl, rg)) {
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

static unsigned count_ranges(const struct flight *fl, bool fills)
{
	unsigned n = 0;

	for (const struct range *rg = fl->ranges.list; rg; rg = rg->next)
		n += !rg->n && rg->fills == fills;
	return n;
}

/* ---- pieces: scattered pages, far from each other ------------------------------------- */

static bool covers(const struct ahead_span *pieces, unsigned n, uint64_t off, uint64_t end)
{
	for (unsigned i = 0; i < n; i++)
		if (pieces[i].off <= off && end <= pieces[i].end)
			return true;
	return false;
}

static bool comes_in_pieces(const struct flight *fl, uint64_t off, uint64_t end)
{
	for (const struct range *rg = fl->ranges.list; rg; rg = rg->next)
		if (covers(rg->pieces, rg->n, off, end))
			return true;
	return covers(fl->ranges.queue + fl->ranges.queue_at, fl->ranges.queued - fl->ranges.queue_at, off, end);
}

static unsigned requests_for_pieces(const struct flight *fl)
{
	unsigned n = 0;

	for (const struct range *rg = fl->ranges.list; rg; rg = rg->next)
		n += rg->n != 0;
	return n;
}

/* Requests as many queued pieces as fit into one request. */
static void send_pieces(struct flight *fl)
{
	unsigned most = ranges_takes_several(fl->f, fl->body.winner->source) ? PIECES_MOST : 1;
	struct range rg = {.fl = fl, .over = range_over};

	while (rg.n < most && fl->ranges.queue_at < fl->ranges.queued) {
		const struct ahead_span *s = &fl->ranges.queue[fl->ranges.queue_at++];

		if (sparse_has_pieces(fl->body.file, s->off, s->end - s->off))
			continue;
		rg.pieces[rg.n++] = *s;
		fl->ranges.touched += s->end - s->off;
	}
	if (!rg.n)
		return;
	rg.off = rg.at = rg.pieces[0].off;
	rg.end = rg.pieces[rg.n - 1].end;
	range_send(&rg); /* after -ENOMEM, a waiting reader asks again */
}

/* Whether a request for several pieces covers [off, end). */
static bool fetch_in_pieces(struct flight *fl, uint64_t off, uint64_t end)
{
	struct ahead_span more[AHEAD_BATCH];
	unsigned n;

	if (comes_in_pieces(fl, off, end))
		return true;
	if (fl->ranges.fill || fl->ranges.queue_at < fl->ranges.queued)
		return false;
	n = ahead_hop(&fl->ranges.ahead, off, end, more);
	if (!covers(more, n, off, end))
		return false;
	memcpy(fl->ranges.queue, more, n * sizeof(*more));
	fl->ranges.queue_at = 0;
	fl->ranges.queued = n;
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct ahead_span *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Queues the short ranges that readers wait for far apart from each other. */
static void queue_scattered(struct flight *fl)
{
	struct ahead_span all[SCATTERED_MOST];
	unsigned n, kept = 0;

	if (!fl->readers.part || fl->ranges.fill || fl->ranges.queue_at < fl->ranges.queued)
		return;
	n = part_pieces(fl->readers.part, all, SCATTERED_MOST);
	qsort(all, n, sizeof(*all), compare_spans);
	for (unsigned i = 0; i < n; i++) {
		if (comes_in_pieces(fl, all[i].off, all[i].end) ||
			sparse_has_pieces(fl->body.file, all[i].off, all[i].end - all[i].off))
			continue;
		if (kept && all[i].off <= fl->ranges.queue[kept - 1].end)
			fl->ranges.queue[kept - 1].end = MAX(fl->ranges.queue[kept - 1].end, all[i].end);
		else if (kept < AHEAD_BATCH)
			fl->ranges.queue[kept++] = all[i];
	}
	fl->ranges.queue_at = 0;
	fl->ranges.queued = kept;
}

/* ---- what readers wait for -------------------------------------------------------- */

/* Requests a window; two halves of a long window arrive faster. */
static bool start_window(struct flight *fl, uint64_t from, uint64_t to)
{
	uint64_t half = from + (to - from) / 2;

	half -= half % SPARSE_BLOCK;
	if (to - from <= HALF_MOST || half <= from || count_ranges(fl, false) + 2 > AT_ONCE)
		return range_start(fl, from, to, false) == 0;
	return range_start(fl, from, half, false) == 0 && range_start(fl, half, to, false) == 0;
}

static void mark_runs(struct flight *fl)
{
	for (unsigned i = 0; fl->readers.part && i < AHEAD_RUNS; i++)
		if (fl->ranges.ahead.runs[i].mark)
			part_mark(fl->readers.part, i, fl->ranges.ahead.runs[i].mark, fl->ranges.ahead.runs[i].next);
}

/* Extends the read-ahead that readers have reached, before the readers wait for the next bytes. */
static void read_ahead(struct flight *fl)
{
	uint64_t from, to, at, stop;

	fl->ranges.reached |= part_reached(fl->readers.part);
	for (unsigned i = 0; i < AHEAD_RUNS && count_ranges(fl, false) < AT_ONCE; i++) {
		if (!(fl->ranges.reached & 1u << i))
			continue;
		fl->ranges.reached &= ~(1u << i);
		if (fl->ranges.fill || !ahead_go_on(&fl->ranges.ahead, i, &from, &to))
			continue;
		for (at = from; count_ranges(fl, false) < AT_ONCE && first_hole(fl, at, to, &at, &stop); at = stop) {
			stop = MIN(stop, to + SPARSE_BLOCK - 1 - (to + SPARSE_BLOCK - 1) % SPARSE_BLOCK);
			fl->ranges.touched += stop - at;
			if (range_start(fl, at, stop, false) < 0)
				break;
		}
		mark_runs(fl);
	}
}

/* Sends one more request for bytes that a reader waits for. False: no request is needed. */
static bool fetch_wanted(struct flight *fl, uint64_t off, uint64_t end)
{
	uint64_t from, stop, to, next, next_stop;

	if (fetch_in_pieces(fl, off, end))
		return false;
	if (!first_hole(fl, off, end, &from, &stop))
		return false;
	to = MIN(stop, MAX(end, from + 1) + SPARSE_BLOCK - 1);
	to = MIN(to - to % SPARSE_BLOCK, fl->body.size);
	if (to <= from)
		to = MIN(from - from % SPARSE_BLOCK + SPARSE_BLOCK, fl->body.size);
	to = ahead_window(&fl->ranges.ahead, from, to);
	to = MIN(to + SPARSE_BLOCK - 1 - (to + SPARSE_BLOCK - 1) % SPARSE_BLOCK, fl->body.size);
	/* Include a short rest of the file: the rest is not worth another request. */
	if (fl->body.size - to <= SPARSE_BLOCK)
		to = fl->body.size;
	/* Continue across short runs of present bytes, but not into requested bytes. */
	next = stop;
	while (next < to && first_hole(fl, next, to, &next, &next_stop) && next - stop <= GAP)
		stop = next = next_stop;
	to = MIN(to, stop);
	fl->ranges.touched += to - from;
	fl->ranges.waited += !count_ranges(fl, false);
	if (count_ranges(fl, true))
		fl->ranges.beside += to - from;
	mark_runs(fl);
	if (fl->ranges.heads == HEADS_UNKNOWN && ahead_lacks_heads(&fl->ranges.ahead, off))
		fl->ranges.heads = HEADS_WANTED;
	return start_window(fl, from, to);
}

static void fill_next(struct flight *fl)
{
	uint64_t from, stop;

	if (count_ranges(fl, true))
		return;
	if (!first_hole(fl, fl->ranges.fill_at, fl->body.size, &from, &stop) &&
		!first_hole(fl, 0, fl->body.size, &from, &stop))
		return;
	fl->ranges.fill_at = stop;
	range_start(fl, from, stop, true);
}

static void send_wanted(struct flight *fl)
{
	uint64_t off, end;

	queue_scattered(fl);
	if (fl->ranges.want_len && count_ranges(fl, false) < AT_ONCE)
		fetch_wanted(fl, fl->ranges.want_off, MIN(fl->ranges.want_off + fl->ranges.want_len, fl->body.size));
	for (unsigned i = 0; fl->readers.part && count_ranges(fl, false) < AT_ONCE &&
		part_wanted(fl->readers.part, i, &off, &end); i++)
		while (count_ranges(fl, false) < AT_ONCE && fetch_wanted(fl, off, end))
			;
	if (fl->readers.part)
		read_ahead(fl);
	while (fl->ranges.queue_at < fl->ranges.queued && requests_for_pieces(fl) < SINGLES_MOST)
		send_pieces(fl);
	if (fl->ranges.fill && fl->phase != FLIGHT_PARKED)
		fill_next(fl);
	for (struct range *rg = fl->ranges.list; rg; rg = rg->next)
		range_rank(rg);
}

static void probe_file(struct flight *fl);

/* Checks whether another process wants the whole file. */
static void look_at_others(void *ctx)
{
	struct flight *fl = ctx;

	if (!fl->ranges.on || fl->phase == FLIGHT_PARKED || !flight_receives(fl))
		return;
	net_timer_set(fl->f->net, &fl->ranges.others, LOOK_MS, look_at_others, fl);
	if (!fl->ranges.fill && flights_wanted(fl->f->store, fl->number)) {
		fl->ranges.fill = true;
		ranges_go(fl);
	}
}

/* Whether the identification of the file, or a reader, waits for bytes. */
static bool ranges_waits(const struct flight *fl)
{
	uint64_t off, end;

	return fl->ranges.want_len || (fl->readers.part && part_wanted(fl->readers.part, 0, &off, &end));
}

/* Whether the only readers cut sections out of the file, so that the whole is not fetched for them. */
static bool is_for_cuts(const struct flight *fl)
{
	unsigned n = 0;

	for (const struct flight *o = fl->f->flights; fl->readers.part && o; o = o->next)
		n += o->cut.from.part == fl->readers.part;
	return n && n == part_opens(fl->readers.part) && !tickets_reader(fl);
}

void ranges_go(struct flight *fl)
{
	if (!fl->ranges.on || !flight_receives(fl) || fl->room.making || fl->ranges.later.due)
		return;
	if (!fl->body.file) {
		if (fl->phase != FLIGHT_PARKED)
			probe_file(fl);
		return;
	}
	if (sparse_is_full(fl->body.file)) {
		if (!fl->ranges.probing) {
			ranges_stop(fl); /* all bytes are present; some transfers have not reported their end yet */
			flight_say(fl, (struct event){SAID_ALL});
		}
		return;
	}
	if (fl->ranges.want_len && sparse_has(fl->body.file, fl->ranges.want_off, fl->ranges.want_len)) {
		fl->ranges.want_len = 0;
		probe_file(fl);
	}
	if (flight_wants_all(fl) || (fl->linger && flight_is_lonely(fl)) ||
		fl->ranges.touched * 100 > fl->body.size * TOUCHED_PERCENT)
		fl->ranges.fill = true;
	if (!fl->ranges.fill && fl->phase != FLIGHT_PARKED && !is_for_cuts(fl) &&
		(fl->ranges.dense || (ranges_waits(fl) && ranges_cost_more(fl, false))))
		fl->ranges.fill = true;
	if (fl->readers.part)
		part_spare(fl->readers.part, !fl->ranges.fill);
	send_wanted(fl);
	if (fl->ranges.heads == HEADS_WANTED && !fl->ranges.want_len)
		probe_file(fl);
	if (fl->phase != FLIGHT_PARKED && !fl->ranges.others.due)
		net_timer_set(fl->f->net, &fl->ranges.others, LOOK_MS, look_at_others, fl);
	if (!fl->ranges.list && fl->ranges.fill && fl->phase != FLIGHT_PARKED)
		ranges_off(fl, "out of memory"); /* no request could be started */
}

void ranges_begin(struct flight *fl)
{
	struct ranges *rs = &fl->ranges;

	rs->on = true;
	rs->fill = rs->dense = false;
	rs->fill_at = rs->touched = rs->want_len = 0;
	rs->errors = rs->waited = 0;
	rs->had = rs->beside = 0;
	ahead_reset(&rs->ahead, fl->body.size);
	rs->heads = HEADS_UNKNOWN;
	ranges_go(fl);
}

/* ---- what workers found ------------------------------------------------------------- */

static void take_sparse(struct flight *fl, struct sparse *sp, const struct probed *p)
{
	if (p->opened < 0) {
		ranges_off(fl, p->text);
		return;
	}
	sparse_set_idle(sp, fl->phase == FLIGHT_PARKED);
	body_become_sparse(fl, sp, p->fresh);
}

static void learn_walk(struct flight *fl, const struct probed *p)
{
	struct ahead *a = &fl->ranges.ahead;

	if (!a->n_tables && !a->units.end) {
		for (unsigned i = 0; i < p->walk.n_tables; i++)
			ahead_table(a, p->walk.tables[i].off, p->walk.tables[i].n);
		a->units = (struct ahead_span){p->walk.units.off, p->walk.units.off + p->walk.units.n};
	}
	if (p->heads && p->sparse == 1 && p->n_heads != -EAGAIN) {
		fl->ranges.heads = HEADS_KNOWN;
		/* without memory, there is no read-ahead by heads */
		ahead_heads(a, p->heads, (unsigned)MAX(p->n_heads, 0));
	}
}

static void learn_probed(struct flight *fl, const struct probed *p)
{
	if (p->r == -EBADMSG || p->r == -ENOENT) {
		flight_say(fl, (struct event){SAID_BODY_FAILED, .error = p->r, .text = p->text});
		return;
	}
	if (p->r == 1)
		atomic_store(&fl->body.poor, !worth_suffices(&p->worth, fl->own.type));
	if (p->r == 1 && better_is_wanted(fl, &p->worth)) {
		flight_say(fl, (struct event){SAID_LESS, .worth = &p->worth});
		return;
	}
	/* While another source may have a better file, no reader is let in before the worth of this file is known. */
	if (fl->body.sure || (p->sure && (p->r == 1 || !better_is_possible(fl))))
		flight_say(fl, (struct event){SAID_SURE});
	learn_walk(fl, p);
	if (p->r == -EAGAIN || p->sparse == -EAGAIN || (p->sparse == 1 && p->heads && p->n_heads == -EAGAIN)) {
		fl->ranges.want_off = p->want_off;
		fl->ranges.want_len = MIN(p->want_len, fl->body.size - MIN(fl->body.size, p->want_off));
	} else if (!p->sparse) {
		fl->ranges.dense = true;
	}
	/* No further range can identify the file; only the whole file can. */
	if (!fl->ranges.want_len && !fl->body.sure)
		fl->ranges.fill = true;
	ranges_go(fl);
}

static void take_probed(struct flight *fl, const struct attempt *winner, struct sparse *sp, const struct probed *p)
{
	fl->ranges.probing = false;
	if (flight_is_over(fl) || !flight_receives(fl) || fl->body.winner != winner || !fl->ranges.on)
		return;
	if (p->opens)
		take_sparse(fl, sp, p);
	if (!p->opens || p->opened == 0)
		learn_probed(fl, p);
}

static void probe_file(struct flight *fl)
{
	uint64_t *heads = NULL;

	if (fl->ranges.probing)
		return;
	if (fl->ranges.heads == HEADS_WANTED) {
		heads = calloc(HEADS_MOST, sizeof(*heads));
		fl->ranges.heads = heads ? HEADS_WANTED : HEADS_KNOWN;
	}
	fl->ranges.probing = true;
	if (probe_start(fl, heads, take_probed) < 0)
		flight_say_no_memory(fl);
}

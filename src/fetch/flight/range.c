/* One request of a download that is filled by ranges: one range, or several pieces in one answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/range.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PIECE_HEAD 512		/* the most bytes of the header lines before a piece */
#define LEAST_RATE 64		/* bytes per second; a slower request is cancelled and sent again */
#define SILENT_MS 30000		/* interval of the check against LEAST_RATE, if the source has no stall timeout */

static void range_free(struct range *rg)
{
	struct range **at = &rg->fl->ranges.list;

	while (*at && *at != rg)
		at = &(*at)->next;
	if (*at)
		*at = rg->next;
	free(rg);
}

static int refuse_several(struct range *rg)
{
	const struct source *s = rg->fl->body.winner->source;

	log_debug(LOG_FETCH, "%s: %s: one range at a time", rg->fl->canon, s->name);
	ranges_refuse_several(rg->fl->f, s);
	rg->one_only = true;
	return -ECANCELED;
}

/* Checks the head of an answer to a request for several pieces. A server that sends the whole file, or one range
 * over all pieces, supports only one range for each request. The server may also have another version; the next
 * request for one range will show that. */
static int several_head(struct range *rg, const struct net_reply *r)
{
	static const char type[] = "multipart/byteranges";
	bool sends = r->status == 206 || r->status == 200 || r->status == 416;

	if (r->status == 206 && strncasecmp(r->type, type, sizeof(type) - 1) == 0 &&
		same_version(&rg->fl->body.version, r)) {
		rg->parts = (struct multipart){.total = rg->fl->body.size};
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
		r->range_total == (int64_t)fl->body.size && same_version(&fl->body.version, r) &&
		(r->size < 0 || r->size == (int64_t)(rg->end - rg->off)))
		return 0;
	/* -ESTALE: another version, or no ranges any more. Other answers are errors that may be transient. */
	rg->error = r->status == 200 || r->status == 206 || r->status == 416 ? -ESTALE : -EREMOTEIO;
	return -ECANCELED;
}

static int range_write(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;
	int r;

	if (off < rg->off || n > rg->end - MIN(off, rg->end))
		return -EPROTO; /* bytes that were not requested */
	r = sparse_write(fl->body.file, off, p, n);
	if (r == -ENOSPC && body_make_room(fl, n) == 0)
		return -EAGAIN;
	if (r < 0) {
		if (r == -ESTALE) /* the disk lost blocks of the file */
			rg->error = r;
		else
			fl->ranges.disk_error = r;
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

/* Servers join pieces that are close to each other, so the answer may have bytes that were not requested. */
static int several_body(struct range *rg, uint64_t off, const void *p, size_t n)
{
	uint64_t most = 2 * pieces_size(rg) + (uint64_t)rg->n * PIECE_HEAD;
	int r;

	if (off > most || n > most - off)
		return refuse_several(rg);
	r = multipart_feed(&rg->parts, p, n, range_write, rg);
	return r == -EPROTO ? refuse_several(rg) : r;
}

/* Whether the request is too slow; checked once per stall timeout. A server that trickles never stalls, yet a
 * reader could wait for hours while other connections to the server are fine. */
static bool hardly_moves(struct range *rg, size_t n)
{
	const struct source *s = rg->fl->body.winner->source;
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
		log_debug(LOG_FETCH, "%s: %s: a range is too slow", rg->fl->canon, s->name);
	return slow;
}

static int range_hold(struct range *rg)
{
	rg->since = rg->came = 0;
	return -EAGAIN;
}

static int range_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct range *rg = ctx;
	struct flight *fl = rg->fl;
	int r;

	if (fl->room.making || (fl->phase == FLIGHT_PARKED && rg->fills))
		return range_hold(rg);
	if (rg->n <= 1 && (off > rg->end - rg->off || n > rg->end - rg->off - off)) {
		rg->error = -ESTALE;
		return -ECANCELED;
	}
	r = rg->n > 1 ? several_body(rg, off, p, n) : range_write(rg, rg->off + off, p, n);
	if (r < 0)
		return r;
	rg->at = rg->n <= 1 ? rg->off + off + n : multipart_is_over(&rg->parts) ? rg->end : rg->off;
	atomic_fetch_add(&fl->f->stats.bytes, n);
	if (fl->readers.part)
		part_advance(fl->readers.part, 0);
	if (rg->at < rg->end && hardly_moves(rg, n))
		return -ECANCELED;
	rg->yields = rg->n <= 1 && rg->at < rg->end && transfer_should_yield(rg->transfer);
	return rg->yields ? -ECANCELED : 0;
}

static void range_done(void *ctx, const struct net_reply *r)
{
	struct range *rg = ctx, copy = *rg;

	range_free(rg);
	if (copy.n > 1 && r->error == 0 && copy.at != copy.end)
		refuse_several(&copy); /* the answer ended before the last piece */
	copy.over(copy.fl, &copy, r);
}

static const struct net_sink range_sink = {range_head, range_body, range_done};

/* The priority of a request: bytes that identify the file come before bytes for its readers. */
static enum net_rank rank_of(const struct range *rg)
{
	struct flight *fl = rg->fl;
	uint64_t off, end;

	if (!fl->body.sure && !rg->fills)
		return NET_FIRST;
	for (unsigned i = 0; fl->readers.part && part_wanted(fl->readers.part, i, &off, &end); i++)
		if (off < rg->end && rg->off < end)
			return NET_WANTED;
	return fl->tickets ? NET_WANTED : NET_SPARE;
}

static int add_range(struct net_req *req, const struct range *rg)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(8192);

	buf_addf(&line, "Range: bytes=%" PRIu64 "-%" PRIu64, rg->off, (rg->n ? rg->pieces[0].end : rg->end) - 1);
	for (unsigned i = 1; i < rg->n; i++)
		buf_addf(&line, ",%" PRIu64 "-%" PRIu64, rg->pieces[i].off, rg->pieces[i].end - 1);
	return line.r < 0 ? line.r : source_add_header(req, buf_text(&line));
}

static int range_request(struct flight *fl, struct range *rg)
{
	const char *validator = version_validator(&fl->body.version);
	char line[256];
	struct net_req req;
	int r = source_request(fl->body.winner->source, &fl->body.winner->ask, &req);

	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "If-Range: %s", validator ? validator : "");
	req.rank = rank_of(rg);
	r = source_add_header(&req, line);
	if (r == 0)
		r = add_range(&req, rg);
	if (r == 0)
		r = net_get(fl->f->net, &req, &range_sink, rg, &rg->transfer);
	net_req_release(&req);
	return r;
}

int range_send(const struct range *what)
{
	struct flight *fl = what->fl;
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
	rg->next = fl->ranges.list;
	fl->ranges.list = rg;
	atomic_fetch_add(&fl->f->stats.requests, 1);
	log_debug(LOG_FETCH, "%s: bytes %" PRIu64 "-%" PRIu64 "%s", fl->canon, rg->off, rg->end - 1,
		rg->fills ? ", fill" : rg->n > 1 ? ", pieces" : "");
	return 0;
}

void range_cancel(struct range *rg)
{
	transfer_cancel(rg->transfer);
	range_free(rg);
}

void range_rank(struct range *rg)
{
	transfer_set_rank(rg->transfer, rank_of(rg));
}

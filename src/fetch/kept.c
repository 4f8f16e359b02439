/* Answers kept for the next meaning of a path. Each meaning is a key with a flight of its own; the flight of the key
 * that the file has continues the answer, so the source sends the file once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight.h"

#include <string.h>

#define KEPT_MS 10000 /* how long an answer waits for its flight, which first looks into the store and directories */

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

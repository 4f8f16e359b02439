/* GET /events: tells clients which keys get a file, by server-sent events, while their connections stay open. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"

static ssize_t stream_read(void *ctx, uint64_t pos, char *out, size_t most)
{
	struct exchange *x = ctx;
	ssize_t n = listener_read(x->listener, rights_still, out, most);

	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0)
		exchange_wait_events(x);
	else
		x->bytes = pos + (uint64_t)n;
	return n;
}

static void stream_end(void *ctx)
{
	struct exchange *x = ctx;

	atomic_fetch_sub(&x->h->listeners, 1);
	exchange_unref(x);
}

static enum MHD_Result reply(struct exchange *x, struct MHD_Response *r)
{
	if (!r)
		return MHD_NO;
	response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
	response_header(r, "Cache-Control", "no-store");
	response_header(r, "X-Accel-Buffering", "no"); /* nginx passes each event on at once */
	return exchange_reply(x, 200, r);
}

static enum MHD_Result events_handle(struct exchange *x)
{
	struct http *h = x->h;
	struct MHD_Response *r;

	if (exchange_is_head(x))
		return reply(x, body_of_head(MHD_SIZE_UNKNOWN));
	if (atomic_load(&h->draining))
		return exchange_refuse(x, 503);
	if (!http_admit(&h->listeners, MIN(HTTP_LISTENERS_MOST, h->most / 4)))
		return exchange_plain(x, 503, "too many clients listen to events; try again later\n");
	x->listener = listener_new(x);
	if (!x->listener) {
		atomic_fetch_sub(&h->listeners, 1);
		return MHD_NO;
	}
	atomic_fetch_add(&x->refs, 1); /* stream_end() drops it */
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, stream_read, x, stream_end);
	if (!r)
		stream_end(x);
	return reply(x, r);
}

const struct handler events_handlers[] = {{ROUTE_EVENTS, events_handle}, {ROUTE_NONE, NULL}};

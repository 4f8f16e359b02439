/* Whether the server is ready for requests, and how it ends: it announces that it is not ready, refuses new
 * connections, and finishes the requests that run. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>

#define READY_MS 1000	  /* how long the result of a check counts */
#define READY_LATE_MS 3000 /* a check that takes longer means that the disk does not answer */

/* ---- /ready -------------------------------------------------------------------------- */

/* Requests of clients never wait for this check, and only one thread at a time is in it: the disk may hang. */
static void check_store(void *ctx)
{
	struct exchange *x = ctx;
	struct http *h = x->h;
	struct err e = {0};
	int r = store_ready(h->public->store, &e);

	if (r < 0)
		log_debug(LOG_HTTP, "not ready: %s", e.text);
	pthread_mutex_lock(&h->lock);
	h->ready.checking = false;
	h->ready.checked = clock_ms();
	h->ready.r = r;
	pthread_mutex_unlock(&h->lock);
	exchange_resume(x);
}

/* True: the caller must check the store. False: *r is the state. */
static bool must_check(struct http *h, int *r)
{
	uint64_t now = clock_ms();
	LOCK_SCOPE(&h->lock);

	*r = h->ready.r;
	if (h->ready.checking) {
		if (now - h->ready.began > READY_LATE_MS)
			*r = -ETIMEDOUT;
		return false;
	}
	if (h->ready.checked && now - h->ready.checked < READY_MS)
		return false;
	h->ready.checking = true;
	h->ready.began = now;
	return true;
}

static enum MHD_Result reply_ready(struct exchange *x, int r)
{
	char text[120];

	if (r == 0)
		return exchange_plain(x, 200, "ready\n");
	snprintf(text, sizeof(text), "the store cannot be used: %s\n", err_text(r));
	return exchange_plain(x, 503, text);
}

enum MHD_Result page_ready(struct exchange *x)
{
	struct http *h = x->h;
	int r;

	if (atomic_load(&h->draining))
		return exchange_plain(x, 503, "the server is stopping\n");
	if (x->step == STEP_ANSWER) {
		pthread_mutex_lock(&h->lock);
		r = h->ready.r;
		pthread_mutex_unlock(&h->lock);
		return reply_ready(x, r);
	}
	if (!must_check(h, &r))
		return reply_ready(x, r);
	if (!exchange_post(x, STEP_ANSWER, h->workers, check_store)) {
		pthread_mutex_lock(&h->lock);
		h->ready.checking = false;
		pthread_mutex_unlock(&h->lock);
	}
	return MHD_YES;
}

/* ---- the end ------------------------------------------------------------------------- */

void http_drain(struct http *h)
{
	atomic_store(&h->draining, true);
}

void http_leave(struct http *h)
{
	if (atomic_exchange(&h->leaving, true))
		return;
	listen_leave(h->listen, h->listener);
	loops_wake(h);
}

void http_refuse(struct http *h)
{
	atomic_store(&h->draining, true);
	http_leave(h);
	conn_end_idle(h);
	for (struct space *s = h->public; s; s = s->next)
		events_end(s->events);
}

unsigned http_running(struct http *h)
{
	return atomic_load(&h->running);
}

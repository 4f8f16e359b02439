/* Requests that wait. libmicrohttpd does not watch a suspended connection, so a thread of this file does:
 * when the client disconnects, the thread cancels what the request waits for. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "http/upload/upload.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define EVENTS 64
#define SWEEP_MS 1000
#define ENDING_MS 20
#define IDLE_MS 60000 /* while there is no connection: chunks of uploads have a lifetime */

/* ---- waiting for an answer ---------------------------------------------------------- */

/* Under http->lock. */
static void list_remove(struct exchange *x)
{
	*x->at = x->next;
	if (x->next)
		x->next->at = x->at;
	x->on_list = false;
	epoll_ctl(x->h->epoll, EPOLL_CTL_DEL, x->conn->fd, NULL);
}

/* From here to exchange_resume() the request belongs to the thread that answers it. False: the client
 * is gone, or the server stops. */
static bool begin_wait(struct exchange *x)
{
	struct http *h = x->h;

	atomic_fetch_add(&h->waiting, 1);
	atomic_fetch_add(&x->refs, 2); /* exchange_resume() drops one reference, end_begin() the other */
	MHD_suspend_connection(x->c);
	LOCK_SCOPE(&h->lock);
	x->over = false;
	/* `waiting` was incremented before this check, so watch_stop() waits for this request. */
	return !x->gone && !atomic_load(&h->stopping);
}

/* After MHD_resume_connection() the request may be freed at any moment. MHD_run() can take libmicrohttpd's own signal
 * without resuming the connection, so the thread is woken again. */
void exchange_resume(struct exchange *x)
{
	struct http *h = x->h;
	struct MHD_Connection *c = x->c;
	int wake = x->conn->loop->wake;

	pthread_mutex_lock(&h->lock);
	if (x->on_list)
		list_remove(x);
	x->over = true;
	pthread_mutex_unlock(&h->lock);
	exchange_unref(x);
	MHD_resume_connection(c);
	eventfd_write(wake, 1);
	atomic_fetch_sub(&h->waiting, 1);
}

/* Puts the request on the list, where the watcher can cancel it. */
static void park(struct exchange *x)
{
	struct http *h = x->h;
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT};
	LOCK_SCOPE(&h->lock);

	if (x->over)
		return;
	ev.data.u64 = x->number = ++h->last_number;
	x->next = h->parked;
	if (x->next)
		x->next->at = &x->next;
	x->at = &h->parked;
	h->parked = x;
	x->on_list = true;
	if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, x->conn->fd, &ev) < 0)
		log_debug(LOG_HTTP, "cannot watch a connection: %s", err_text(errno));
}

/* `r`: 0: a wait has begun; negative: it could not begin; positive: there is nothing to wait for. */
static void end_begin(struct exchange *x, int r)
{
	if (r < 0)
		x->refuse = 503;
	if (r == 0)
		park(x);
	else
		exchange_resume(x);
	exchange_unref(x);
}

/* Copies the answer, and takes references for the copy. */
static void answer_of(const struct fetched *f, struct answer *out)
{
	out->r = f->r;
	out->key = f->key;
	out->blob = f->r == 0 && f->blob ? blob_ref(f->blob) : NULL;
	out->part = f->r == 0 && f->part ? part_ref(f->part) : NULL;
	if (out->part)
		part_open(out->part);
	out->was = f->was;
	out->size = f->size;
	out->miss_ms = f->miss_ms;
	snprintf(out->why, sizeof(out->why), "%s", f->why ? f->why : "");
}

void exchange_answered(struct exchange *x, enum step step, int r, struct fetched *f)
{
	f->r = r < 0 ? r : f->r;
	answer_of(f, &x->answer);
	blob_unref(take(f->blob));
	x->stored = x->answer.blob;
	x->step = step;
}

static void wait_ready(void *ctx, const struct fetched *f)
{
	struct exchange *x = ctx;

	answer_of(f, &x->answer);
	exchange_resume(x);
}

bool exchange_fetch(struct exchange *x, enum step step, enum fetch_need need)
{
	const struct tree_hit *hit = &x->route->hit;
	struct fetched f = {0};
	int r;

	hops_pass_on(x);
	r = fetch_try(x->space->fetch, hit->files, hit->n, need, &f);
	if (r != -EAGAIN) {
		exchange_answered(x, step, r, &f);
		return true;
	}
	x->step = step;
	r = begin_wait(x) ? fetch_open(x->space->fetch, hit->files, hit->n, need, wait_ready, x, &x->ticket) : -EINTR;
	end_begin(x, r);
	return false;
}

enum MHD_Result exchange_make(struct exchange *x, const struct artifact *a)
{
	int r;

	x->step = STEP_ANSWER;
	r = begin_wait(x) ? derive_open(x->space->derive, a, wait_ready, x, &x->making) : -EINTR;
	end_begin(x, r);
	return MHD_YES;
}

bool exchange_post(struct exchange *x, enum step step, struct workers *of, void (*work)(void *ctx))
{
	int r;

	x->step = step;
	r = begin_wait(x) ? workers_post(of, work, x) : -EINTR;

	end_begin(x, r);
	return r == 0;
}

/* ---- waiting for bytes of a file ------------------------------------------------------ */

static void bytes_ready(void *ctx, int r)
{
	struct exchange *x = ctx;

	if (r < 0)
		x->step = STEP_CUT;
	exchange_resume(x);
}

/* The canceller may still hold a reference to the previous wait, which has finished. */
static void set_awaited(struct exchange *x, struct part_wait *w)
{
	struct part_wait *old;

	pthread_mutex_lock(&x->h->lock);
	old = x->awaited;
	x->awaited = w;
	pthread_mutex_unlock(&x->h->lock);
	part_wait_unref(old);
}

void exchange_wait_bytes(struct exchange *x, struct part *p, uint64_t off, size_t n)
{
	struct part_wait *w = NULL;
	int r = begin_wait(x) ? part_wait(p, n ? PART_FIRST : PART_SEALED, off, n, bytes_ready, x, &w) : -EINTR;

	set_awaited(x, r == 0 ? w : NULL);
	if (r < 0)
		x->step = STEP_CUT;
	end_begin(x, r);
}

void exchange_wait_events(struct exchange *x)
{
	int r = begin_wait(x) ? listener_wait(x->listener) : -EINTR;

	if (r < 0)
		listener_cancel(x->listener);
	end_begin(x, r);
}

/* ---- clients that disconnect ----------------------------------------------------------- */

/* The caller does not hold http->lock, because cancelling a conversion or a wait for bytes runs a
 * callback. */
static void cancel(struct exchange *x, struct part_wait *bytes)
{
	if (x->listener)
		listener_cancel(x->listener);
	else if (bytes)
		part_wait_cancel(bytes);
	else if (x->making) /* the ticket, if any, found its input and has ended */
		making_cancel(x->making);
	else if (x->ticket)
		ticket_cancel(x->ticket);
	part_wait_unref(bytes);
	exchange_unref(x);
}

/* Takes the request with the number `number` (0: any) off the list, so that it is cancelled only once. The
 * caller gets references to the request and to its wait for bytes. NULL: no such request waits any more. */
static struct exchange *take_parked(struct http *h, uint64_t number, struct part_wait **bytes)
{
	LOCK_SCOPE(&h->lock);

	for (struct exchange *x = h->parked; x; x = x->next)
		if (!number || x->number == number) {
			atomic_fetch_add(&x->refs, 1);
			x->gone = true;
			atomic_store(&x->left, true);
			*bytes = x->awaited ? part_wait_ref(x->awaited) : NULL;
			list_remove(x);
			return x;
		}
	return NULL;
}

/* ---- the thread --------------------------------------------------------------------- */

static void client_gone(struct http *h, uint64_t number)
{
	struct part_wait *bytes;
	struct exchange *x = take_parked(h, number, &bytes);
	char shown[TARGET_TEXT];

	if (!x)
		return;
	log_debug(LOG_HTTP, "%s: the client disconnected", target_shown(x, shown));
	atomic_fetch_add(&h->counters.gone, 1);
	cancel(x, bytes);
}

static void cancel_all(struct http *h)
{
	struct part_wait *bytes;
	struct exchange *x;

	while ((x = take_parked(h, 0, &bytes)))
		cancel(x, bytes);
}

static void *watch_main(void *arg)
{
	struct epoll_event events[EVENTS];
	struct http *h = arg;
	bool some = h->uploads != NULL; /* soon after the start: chunks can be left from earlier */
	eventfd_t n;

	while (!atomic_load(&h->stopping) || atomic_load(&h->waiting)) {
		bool ending = atomic_load(&h->stopping);
		int got = epoll_wait(h->epoll, events, EVENTS,
			ending ? ENDING_MS : some ? SWEEP_MS : h->uploads ? IDLE_MS : -1);

		for (int i = 0; i < got; i++) {
			if (events[i].data.u64 == 0)
				eventfd_read(h->wake, &n);
			else
				client_gone(h, events[i].data.u64);
		}
		some = conn_sweep(h);
		for (struct space *s = h->public; s; s = s->next)
			events_tick(s->events);
		some |= h->uploads && h->uploads->sweep(h->uploads, h);
		if (atomic_load(&h->stopping))
			cancel_all(h);
	}
	return NULL;
}

int watch_start(struct http *h)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0};
	int r;

	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->epoll < 0 || h->wake < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->wake, &ev) < 0)
		return -errno;
	r = pthread_create(&h->watcher, NULL, watch_main, h);
	return -r;
}

void watch_stop(struct http *h)
{
	atomic_store(&h->stopping, true);
	eventfd_write(h->wake, 1);
	pthread_join(h->watcher, NULL);
}

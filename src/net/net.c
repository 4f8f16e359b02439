/* The net thread: its loop runs posted calls, timers and libcurl's multi. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/net.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "net/net-private.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#define WAIT_LOOK_MS 100 /* milliseconds between checks of *stop in net_wait_end() */

#define STOPPED_MS 2000 /* a round of the loop that is this late means that the process was stopped */

/* postpones all timers */
static void timers_postpone(struct net *n, uint64_t ms)
{
	for (struct net_timer *t = n->timers.next; t != &n->timers; t = t->next)
		t->due += ms;
}

/* A process that was stopped (Ctrl-Z, a frozen container) could not receive, so its servers were not
 * silent. Postpones all timers and stall timeouts by that time. `wait` is the number of milliseconds that
 * the round since *last was allowed to take. */
static void allow_for_stop(struct net *n, uint64_t *last, int wait)
{
	uint64_t now = clock_ms(), took = now - *last;

	*last = now;
	if (took <= (uint64_t)wait + STOPPED_MS)
		return;
	took -= (uint64_t)wait;
	timers_postpone(n, took);
	transfers_stopped(n, took);
}

/* ---- calls -------------------------------------------------------------------------- */

void net_post_by(struct net *n, struct net_post *post, void (*fn)(void *ctx), void *ctx)
{
	LOCK_SCOPE(&n->lock);

	*post = (struct net_post){.fn = fn, .ctx = ctx};
	*n->last = post;
	n->last = &post->next;
	curl_multi_wakeup(n->multi);
}

struct own_post {
	struct net_post post;
	void (*fn)(void *ctx);
	void *ctx;
};

static void own_post_run(void *ctx)
{
	struct own_post own = *(struct own_post *)ctx;

	free(ctx);
	own.fn(own.ctx);
}

int net_post(struct net *n, void (*fn)(void *ctx), void *ctx)
{
	struct own_post *own = malloc(sizeof(*own));

	if (!own)
		return -ENOMEM;
	own->fn = fn;
	own->ctx = ctx;
	net_post_by(n, &own->post, own_post_run, own);
	return 0;
}

static bool net_here(const struct net *n)
{
	return pthread_equal(n->thread, pthread_self());
}

struct call {
	struct net_post post;
	struct net *net;
	void (*fn)(void *ctx);
	void *ctx;
	bool ran; /* under the lock of `net` */
};

static void call_run(void *ctx)
{
	struct call *c = ctx;

	c->fn(c->ctx);
	LOCK_SCOPE(&c->net->lock);
	c->ran = true;
	pthread_cond_broadcast(&c->net->called);
}

int net_call(struct net *n, void (*fn)(void *ctx), void *ctx)
{
	struct call c = {.net = n, .fn = fn, .ctx = ctx};

	if (net_here(n)) {
		fn(ctx);
		return 0;
	}
	net_post_by(n, &c.post, call_run, &c);
	LOCK_SCOPE(&n->lock);
	while (!c.ran)
		pthread_cond_wait(&n->called, &n->lock);
	return 0;
}

/* ---- waiting for a request ----------------------------------------------------------------- */

static void wait_start(void *ctx)
{
	struct net_wait *w = ctx;

	w->started = net_get(w->net, w->req, w->sink, w->ctx, &w->transfer);
	w->done = w->started < 0;
}

int net_wait_begin(struct net_wait *w, struct net *n, const struct net_req *req, const struct net_sink *sink,
	void *ctx)
{
	*w = (struct net_wait){.net = n, .req = req, .sink = sink, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER};
	net_call(n, wait_start, w);
	return w->started;
}

void net_wait_done(struct net_wait *w)
{
	LOCK_SCOPE(&w->lock);

	w->done = true;
	pthread_cond_signal(&w->over);
}

static void wait_cancel(void *ctx)
{
	struct net_wait *w = ctx;

	if (!w->done)
		transfer_cancel(w->transfer);
}

bool net_wait_end(struct net_wait *w, uint64_t until, const atomic_bool *stop)
{
	bool done;

	pthread_mutex_lock(&w->lock);
	while (!w->done && clock_ms() < until) {
		struct timespec look = clock_after(CLOCK_REALTIME, WAIT_LOOK_MS);

		pthread_cond_timedwait(&w->over, &w->lock, &look);
		if (atomic_load(stop))
			break;
	}
	done = w->done;
	pthread_mutex_unlock(&w->lock);
	if (!done) {
		net_call(w->net, wait_cancel, w);
		done = w->done; /* it may have ended before it was cancelled */
	}
	pthread_cond_destroy(&w->over);
	pthread_mutex_destroy(&w->lock);
	return done;
}

/* Runs the calls that were posted so far. False: there were none, and no more will come. When n->ending
 * is set the loop must not sleep: it may have consumed the wakeup of net_stop() already. */
static bool calls_run(struct net *n)
{
	struct net_post *p, *next;

	pthread_mutex_lock(&n->lock);
	p = n->first;
	n->ending = n->stopping;
	n->first = NULL;
	n->last = &n->first;
	pthread_mutex_unlock(&n->lock);
	if (!p && n->ending)
		return false;
	for (; p; p = next) {
		next = p->next;
		p->fn(p->ctx);
	}
	return true;
}

/* ---- the thread --------------------------------------------------------------------- */

static void transfers_end(struct net *n)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(n->multi, &left))) {
		CURLcode result = m->data.result;
		struct transfer *t = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		transfer_ended(t, result);
	}
}

/* ms until the next timer is due, at most a minute */
static int timers_wait(const struct net *n)
{
	const struct net_timer *t = n->timers.next;
	uint64_t now = clock_ms();

	if (n->ending)
		return 0;
	if (t == &n->timers)
		return 60 * 1000;
	return t->due <= now ? 0 : (int)MIN(t->due - now, 60 * 1000);
}

/* whether there are transfers, and so something to watch */
static void watch_note(struct net *n, bool busy)
{
	if (n->busy == busy)
		return;
	LOCK_SCOPE(&n->lock);
	n->busy = busy;
	pthread_cond_signal(&n->watch);
}

static void *net_main(void *arg)
{
	struct net *n = arg;
	uint64_t last = clock_ms();
	int running, wait = 0;

	for (;;) {
		allow_for_stop(n, &last, wait);
		if (!calls_run(n))
			break;
		timers_run(n);
		watch_note(n, n->transfers != NULL);
		atomic_fetch_add(&n->rounds, 1);
		curl_multi_perform(n->multi, &running);
		transfers_end(n);
		transfers_admit(n);
		wait = timers_wait(n);
		curl_multi_poll(n->multi, NULL, 0, wait, NULL);
	}
	transfers_drop(n);
	return NULL;
}

static void curl_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void net_free(struct net *n)
{
	if (!n)
		return;
	if (n->multi)
		curl_multi_cleanup(n->multi);
	pthread_cond_destroy(&n->called);
	pthread_cond_destroy(&n->watch);
	pthread_mutex_destroy(&n->lock);
	free(n->sockets);
	free(n->user_agent);
	free(n);
}

static void cleanup_net(struct net **n)
{
	net_free(*n);
}

static int multi_open(struct net *n, const struct net_opts *o)
{
	long all = o->connections ? (long)MIN(o->connections, INT_MAX) : 64;
	long host = o->host_connections ? (long)MIN(o->host_connections, 1000) : 8;

	n->multi = curl_multi_init();
	if (!n->multi)
		return -ENOMEM;
	/* If libcurl has no file descriptors for its wakeup, curl_multi_init() reports no error, and the
	 * thread would never wake. */
	if (curl_multi_wakeup(n->multi) != CURLM_OK)
		return -EMFILE;
	curl_multi_setopt(n->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, all);
	n->host_usual = (unsigned)host;
	n->host_most = 2 * host; /* transfers wait in queue.c, which orders them */
	curl_multi_setopt(n->multi, CURLMOPT_MAX_HOST_CONNECTIONS, n->host_most);
	curl_multi_setopt(n->multi, CURLMOPT_MAXCONNECTS, all);
	return 0;
}

/* Ends the thread of the watch. */
static void watch_end(struct net *n)
{
	pthread_mutex_lock(&n->lock);
	n->ended = true;
	pthread_cond_signal(&n->watch);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->watcher, NULL);
}

/* Starts the threads with all signals blocked, because the main thread handles them. This includes
 * SIGPIPE, which TLS raises because MSG_NOSIGNAL has no effect there. Threads that libcurl starts inherit
 * this mask. */
static int thread_open(struct net *n)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&n->watcher, NULL, watch_main, n);
	if (r == 0) {
		r = pthread_create(&n->thread, NULL, net_main, n);
		if (r != 0)
			watch_end(n);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

int net_start(struct net **out, const struct net_opts *o, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	_cleanup_(cleanup_net) struct net *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return err_set(e, -ENOMEM, "net: out of memory");
	pthread_once(&once, curl_init);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->called, NULL);
	pthread_cond_init(&n->watch, NULL);
	n->last = &n->first;
	timers_init(n);
	n->user_agent = strdup(o->user_agent ? o->user_agent : "symfs");
	r = n->user_agent ? multi_open(n, o) : -ENOMEM;
	if (r < 0)
		return err_set(e, r, "net: %s", err_text(r));
	r = thread_open(n);
	if (r < 0)
		return err_set(e, r, "net: cannot start a thread: %s", err_text(r));
	*out = take(n);
	return 0;
}

void net_stop(struct net *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stopping = true;
	curl_multi_wakeup(n->multi);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	watch_end(n);
	net_free(n);
}

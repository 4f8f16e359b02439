/* Transfers over HTTP. One thread, the net thread, owns the curl multi, the timers and a queue of posted
 * calls. Functions marked (net) may be called on that thread only, and every callback runs there, so the
 * thread's data needs no lock. Callbacks must not block. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "net/request.h"
#include "net/speed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net;
struct transfer;

struct net_opts {
	unsigned connections;	 /* concurrent, to all hosts; 0: 64 */
	unsigned host_connections; /* per host; 0: 8. Requests of rank NET_FIRST that wait long for a slot
				      may raise this to twice as many, unless the request sets
				      `connections` */
	const char *user_agent;	 /* "symfs/1.0.0" */
};

/* Starts the net thread; net_stop() frees it. 0, or a negative errno with a message in `e`. */
int net_start(struct net **out, const struct net_opts *o, struct err *e);

/* Ends the thread. Calls posted before run first. Transfers still running are dropped without a callback,
 * and timers do not fire. Must not be called on the net thread. */
void net_stop(struct net *n);

/* Runs fn(ctx) on the net thread, in the order of posting. Any thread may call it, also the net thread;
 * even then fn runs after net_post() has returned. 0, -ENOMEM. */
int net_post(struct net *n, void (*fn)(void *ctx), void *ctx);

/* net_post() with memory of the caller, so it cannot fail. The caller may reuse or free the struct as
 * soon as fn runs. */
struct net_post {
	struct net_post *next;
	void (*fn)(void *ctx);
	void *ctx;
};
void net_post_by(struct net *n, struct net_post *post, void (*fn)(void *ctx), void *ctx);

/* Like net_post(), but waits until fn has returned. On the net thread fn runs at once. Always 0. */
int net_call(struct net *n, void (*fn)(void *ctx), void *ctx);

/* A timer is embedded in its owner's struct. The struct must be zeroed before its first use. (net) */
struct net_timer {
	struct net_timer *prev, *next;
	uint64_t due; /* clock_ms(); 0: not set */
	void (*fn)(void *ctx);
	void *ctx;
};

/* Runs fn(ctx) once, in `ms` milliseconds; replaces an earlier setting of the timer. */
void net_timer_set(struct net *n, struct net_timer *t, unsigned ms, void (*fn)(void *), void *ctx);
void net_timer_stop(struct net *n, struct net_timer *t); /* does nothing if the timer is not set */

/* The callbacks of a transfer, in this order: head once, body any number of times, done once. head() is
 * not called if no answer comes, or if the answer announces more than `most` bytes. Redirects are
 * followed internally, so head() gets the last answer only. Only the body of a 2xx is passed on. */
struct net_sink {
	/* The status and the headers have arrived. 0 continues; a negative errno ends the transfer, and
	 * done() gets it as r->error. */
	int (*head)(void *ctx, const struct net_reply *r);
	/* n bytes of the decoded body, at its offset `off`. 0; -EAGAIN: the sink takes none of them now,
	 * and gets the same bytes again after transfer_resume(). Another negative errno ends the
	 * transfer. */
	int (*body)(void *ctx, uint64_t off, const void *p, size_t n);
	/* The transfer has ended: r->error is 0 if the whole body came. The transfer is freed after
	 * this. */
	void (*done)(void *ctx, const struct net_reply *r);
};

/* Starts a GET, or a request by another method. (net) No callback runs before net_get() returns. -EINVAL: not a URL
 * of http or https. */
int net_get(struct net *n, const struct net_req *req, const struct net_sink *sink, void *ctx,
	struct transfer **out);

/* One request whose end a thread waits for. As its last step, done() of the sink calls net_wait_done(). */
struct net_wait {
	struct net *net;
	const struct net_req *req;
	const struct net_sink *sink;
	void *ctx;
	struct transfer *transfer;
	int started; /* result of net_get() */
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done; /* under lock */
};

/* Starts the request by net_get(); a request that did not start is done. `req` may be released afterwards. */
int net_wait_begin(struct net_wait *w, struct net *n, const struct net_req *req, const struct net_sink *sink,
	void *ctx);
void net_wait_done(struct net_wait *w); /* (net) */
/* Waits until the request is done, clock_ms() is `until` or *stop is set. Then cancels a request that is not done,
 * and releases `w`. Returns whether the request is done. (not net) */
bool net_wait_end(struct net_wait *w, uint64_t until, const atomic_bool *stop);

/* (net) The measured speed of an origin. The time of a redirect counts for the origin that redirects. */
struct speed net_speed(const struct net *n, const char *origin);

/* (net) From now on the callbacks of another sink run. May be called inside body(). */
void transfer_hand_over(struct transfer *t, const struct net_sink *sink, void *ctx);
const struct net_reply *transfer_reply(const struct transfer *t); /* (net) its head, after head() ran */
void transfer_resume(struct transfer *t); /* (net) */
void transfer_cancel(struct transfer *t); /* (net) frees the transfer; none of its callbacks runs any
					     more. Must not be called inside its own callbacks. */
/* (net) Whether the transfer still waits for a slot at its host and has sent nothing yet. */
bool transfer_is_queued(const struct transfer *t);
/* (net) clock_ms() when the transfer got a slot after waiting; 0: it never waited, or still waits. */
uint64_t transfer_its_turn(const struct transfer *t);
void transfer_set_rank(struct transfer *t, enum net_rank rank); /* (net) */
/* (net) Whether the transfer should make room for another transfer that waits for the host: soon for a more
 * urgent transfer, after its own time slice for an equally urgent transfer. Then cancel it, and request the
 * rest anew. True once for each transfer that waits. */
bool transfer_should_yield(struct transfer *t);

/* Transfers over HTTP. One thread, the net thread, owns the curl multi, the timers and a queue
 * of posted calls. Everything marked (net) is called on that thread only, and every callback
 * runs there, so what lives there needs no lock. Callbacks must not wait. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "net/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net;
struct transfer;

struct net_opts {
	unsigned connections;	 /* concurrent, to all hosts; 0: 64 */
	unsigned host_connections; /* per host; 0: 8. Twice as many when first answers wait long for
				      bodies, unless a request says how many */
	const char *user_agent;	 /* "symfs/0.1.0" */
};

int net_start(struct net **out, const struct net_opts *o, struct err *e);

/* Ends the thread. Calls that were posted before run first; transfers that are left are dropped
 * without a callback; timers do not fire. Not on the net thread. */
void net_stop(struct net *n);

bool net_here(const struct net *n); /* is this the net thread? */

/* Runs fn(ctx) on the net thread, in the order of posting; from any thread, also from the net
 * thread itself (then later, never nested). 0, -ENOMEM. */
int net_post(struct net *n, void (*fn)(void *ctx), void *ctx);

/* The same with memory of the caller, so it cannot fail. The struct may be used anew, or freed, as soon as
 * fn runs. */
struct net_post {
	struct net_post *next;
	void (*fn)(void *ctx);
	void *ctx;
};
void net_post_by(struct net *n, struct net_post *post, void (*fn)(void *ctx), void *ctx);

/* The same, and waits until fn has run. On the net thread fn runs at once. */
int net_call(struct net *n, void (*fn)(void *ctx), void *ctx);

/* A timer lies in its owner's struct, zeroed before its first use. (net) */
struct net_timer {
	struct net_timer *prev, *next;
	uint64_t due; /* clock_ms(); 0: not set */
	void (*fn)(void *ctx);
	void *ctx;
};

void net_timer_set(struct net *n, struct net_timer *t, unsigned ms, void (*fn)(void *), void *ctx);
void net_timer_stop(struct net *n, struct net_timer *t); /* also when it is not set */

/* The callbacks of a transfer, in this order: head once, body any number of times, done once. head() is
 * left out without an answer, and for an answer that announces more than `most` bytes. Redirects are
 * followed inside; `head` gets the last answer only. Only the body of a 2xx is passed on. */
struct net_sink {
	/* Status and headers are here. 0 goes on; negative ends the transfer: done() gets it. */
	int (*head)(void *ctx, const struct net_reply *r);
	/* n bytes of the (decoded) body, which begin at `off` of it. 0; -EAGAIN: keep them, the same bytes
	 * come again after transfer_resume(); other negative: ends the transfer. */
	int (*body)(void *ctx, uint64_t off, const void *p, size_t n);
	/* The end: r->error is 0 when the whole body came. The transfer is freed after this. */
	void (*done)(void *ctx, const struct net_reply *r);
};

/* Starts a GET. (net) No callback runs before it returns. -EINVAL: not a URL of http or https. */
int net_get(struct net *n, const struct net_req *req, const struct net_sink *sink, void *ctx,
	struct transfer **out);

void transfer_pause(struct transfer *t);  /* (net) no body() until transfer_resume() */
void transfer_resume(struct transfer *t); /* (net) */
void transfer_cancel(struct transfer *t); /* (net) freed; none of its callbacks runs any more.
					     Not from inside its own callbacks. */
/* (net) Whether the transfer waits for a slot at its host; nothing was sent yet. */
bool transfer_is_queued(const struct transfer *t);
/* (net) clock_ms() of the end of that wait; 0: the transfer never waited, or still waits. */
uint64_t transfer_its_turn(const struct transfer *t);
void transfer_set_rank(struct transfer *t, enum net_rank rank); /* (net) */
/* (net) True when it has used its time slice and an equally urgent transfer waits for the host: cancel it
 * and request the rest anew. True once for each transfer that waits. */
bool transfer_should_yield(struct transfer *t);

/* The timers of the net thread: a ring, sorted by the time at which they are due. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "net/net-private.h"

static void ring_init(struct net_timer *ring)
{
	ring->prev = ring->next = ring;
}

static void ring_insert(struct net_timer *before, struct net_timer *t)
{
	t->next = before;
	t->prev = before->prev;
	t->prev->next = t;
	before->prev = t;
}

void net_timer_stop(struct net *n, struct net_timer *t)
{
	(void)n;
	if (!t->due)
		return;
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->prev = t->next = NULL;
	t->due = 0;
}

void net_timer_set(struct net *n, struct net_timer *t, unsigned ms, void (*fn)(void *), void *ctx)
{
	struct net_timer *at = &n->timers;

	net_timer_stop(n, t);
	t->due = clock_ms() + ms;
	t->fn = fn;
	t->ctx = ctx;
	/* Searches from the back: most new timers are due after those already set. */
	while (at->prev != &n->timers && at->prev->due > t->due)
		at = at->prev;
	ring_insert(at, t);
}

/* A timer that is set while timers_run() runs waits for the next round of the loop, even a timer of 0
 * ms. */
void timers_run(struct net *n)
{
	struct net_timer due, *t;
	uint64_t now = clock_ms();

	ring_init(&due);
	while ((t = n->timers.next) != &n->timers && t->due <= now) {
		t->prev->next = t->next;
		t->next->prev = t->prev;
		ring_insert(&due, t);
	}
	while ((t = due.next) != &due) {
		net_timer_stop(n, t);
		t->fn(t->ctx);
	}
}

void timers_init(struct net *n)
{
	ring_init(&n->timers);
}

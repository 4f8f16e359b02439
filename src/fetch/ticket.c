/* Tickets: each is a request of one caller. It tries its candidates in order, and joins a flight for each. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <stdio.h>
#include <string.h>

void ticket_unref(struct ticket *t)
{
	if (t && __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(t);
}

static void ticket_deliver(struct ticket *t, const struct fetched *a)
{
	struct fetched b = *a;

	t->done = true;
	net_timer_stop(t->f->net, &t->deadline);
	if (b.r == -ENOENT)
		atomic_fetch_add(&t->f->stats.misses, 1);
	if (b.blob)
		b.was = was_find(t->f, blob_number(b.blob));
	t->ready(t->ctx, &b);
	ticket_unref(t);
}

static void ticket_overdue(void *ctx)
{
	struct ticket *t = ctx;
	struct fetched a = {.r = -ETIMEDOUT, .why = "no answer before the lookup deadline"};

	if (t->flight && !flight_overdue(t->flight, t))
		return;
	key_of(&a.key, &t->cands[0]);
	ticket_deliver(t, &a);
}

/* Whether the ticket may wait for another candidate. Each flight has its own deadline, but all candidates together
 * must not take longer than one deadline. A caller of FETCH_OPEN or more may wait again unless the error was a
 * timeout, because it may have waited for a body that turned out to be wrong. */
static bool ticket_may_wait(struct ticket *t)
{
	uint64_t waited = clock_ms() - t->began, most = t->f->opts.lookup_deadline_ms;

	if (waited < most)
		net_timer_set(
			t->f->net, &t->deadline, (unsigned)(most - waited), ticket_overdue, t);
	return waited < most || (t->need != FETCH_EXISTS && t->worst != -ETIMEDOUT);
}

/* Joins a flight for the next candidate that has a key. After the last candidate, delivers their joint answer. */
static void ticket_go_on(struct ticket *t)
{
	struct fetched a = {.r = t->worst ? t->worst : -ENOENT, .unnamed = !t->worst && !t->named,
		.why = t->worst	 ? t->worst_why
		       : !t->named ? FETCH_UNNAMED
		       : t->asked ? "no source has it"
				  : FETCH_KNOWN};
	struct key k;

	while (t->at < t->n && key_of(&k, &t->cands[t->at]) < 0)
		t->at++;
	if (t->at < t->n && !t->f->closing) {
		if ((t->at > 0 || t->again) && !ticket_may_wait(t)) {
			ticket_overdue(t);
			return;
		}
		k = store_key(t->f->store, &k); /* a stored file may have a key of its own */
		flight_join(t->f, t, &t->cands[t->at], &k);
		return;
	}
	key_of(&a.key, &t->cands[0]);
	if (a.unnamed)
		a.why = fetch_unnamed(t->f, &t->cands[0]);
	a.miss_ms = t->worst ? 0 : t->miss_ms;
	if (t->f->closing)
		a.r = -EINTR;
	ticket_deliver(t, &a);
}

/* Takes a flight's answer for the current candidate. */
static void ticket_answer(struct ticket *t, const struct fetched *a)
{
	if (!a) {
		t->again = true;
		ticket_go_on(t);
		return;
	}
	if (a->r == 0) {
		ticket_deliver(t, a);
		return;
	}
	if (a->r == -ENOENT) {
		t->named |= !a->unnamed;
		t->asked |= !a->unnamed && strcmp(a->why, FETCH_KNOWN) != 0;
		t->miss_ms = MIN(t->miss_ms, a->miss_ms);
	} else if (!t->worst) {
		t->worst = a->r;
		snprintf(t->worst_why, sizeof(t->worst_why), "%.190s", a->why);
	}
	t->at++;
	ticket_go_on(t);
}

static void ticket_begin(void *ctx)
{
	struct ticket *t = ctx;

	t->began = clock_ms();
	ticket_go_on(t);
}

int fetch_open(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	fetch_ready *ready, void *ctx, struct ticket **out)
{
	struct ticket *t = calloc(1, sizeof(*t) + n * sizeof(*cands));

	if (!t)
		return -ENOMEM;
	*t = (struct ticket){.refs = 2, .f = f, .need = need, .ready = ready, .ctx = ctx, .n = n,
		.miss_ms = MISS_ANSWER_MS, .answer = ticket_answer};
	memcpy(t->cands, cands, n * sizeof(*cands));
	*out = t;
	if (net_post(f->net, ticket_begin, t) < 0) {
		free(t);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void ticket_cancel_now(void *ctx)
{
	struct ticket *t = ctx;
	struct fetched a = {.r = -EINTR, .why = "interrupted"};

	if (!t->done) {
		if (t->flight)
			flight_leave(t->flight, t);
		key_of(&a.key, &t->cands[0]);
		ticket_deliver(t, &a);
	}
	ticket_unref(t);
}

void ticket_set_pid(struct ticket *t, int pid)
{
	atomic_store(&t->pid, pid);
}

void ticket_cancel(struct ticket *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	if (net_post(t->f->net, ticket_cancel_now, t) < 0)
		ticket_unref(t); /* no memory: the ticket ends at its deadline */
}

/* The table of conversions under way. Callers join a conversion, other processes see its heartbeat, and its requests
 * for files are cancelled with it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/workers.h"
#include "derive/private.h"
#include "priv/worker.h"
#include "store/flights.h"

#include <string.h>
#include <unistd.h>

#define THREADS_MOST 4

/* ---- begin and end ------------------------------------------------------------------ */

/* One thread for each processor, and one more, because a thread may wait for the disk; at most THREADS_MOST. */
unsigned derive_threads(void)
{
	return 1 + (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), THREADS_MOST - 1L);
}

uint64_t derive_memory(const struct derive *d)
{
	return worker_memory() / (derive_threads() * MAX(atomic_load(fetch_makers(d->fetch)), 1u));
}

int derive_new(struct derive **out, struct fetch *f)
{
	struct derive *d = calloc(1, sizeof(*d));
	int r = d ? workers_new(&d->workers, derive_threads()) : -ENOMEM;
	pthread_condattr_t by_clock;

	if (r < 0) {
		free(d);
		return r;
	}
	d->fetch = f;
	d->store = fetch_store(f);
	atomic_fetch_add(fetch_makers(f), 1);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->answered, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&d->ended, &by_clock);
	pthread_cond_init(&d->idle_change, &by_clock);
	pthread_cond_init(&d->asked_ended, NULL);
	pthread_condattr_destroy(&by_clock);
	*out = d;
	return 0;
}

/* ---- the heartbeat of conversions that this process leads ---------------------------- */

static void *pulse_main(void *arg)
{
	struct derive *d = arg;
	LOCK_SCOPE(&d->lock);

	while (!d->over) {
		struct timespec until = clock_after(CLOCK_MONOTONIC, FLIGHTS_BEAT_MS);

		for (struct conversion *c = d->conversions; c; c = c->next)
			if (c->follow.leads)
				follow_beat(&c->follow, d->store, key_number(&c->key));
		while (!d->over && pthread_cond_timedwait(&d->ended, &d->lock, &until) == 0)
			;
	}
	return NULL;
}

/* Call it under the lock. If the thread cannot start, the conversion seems stalled to other processes. They then do
 * the same work, which is harmless. */
void derive_pulse(struct derive *d)
{
	if (!d->pulses)
		d->pulses = pthread_create(&d->pulse, NULL, pulse_main, d) == 0;
}

static void pulse_end(struct derive *d)
{
	pthread_mutex_lock(&d->lock);
	d->over = true;
	pthread_cond_signal(&d->ended);
	pthread_mutex_unlock(&d->lock);
	if (d->pulses)
		pthread_join(d->pulse, NULL);
}

/* Under lock. */
static void conversion_give_up(struct conversion *c)
{
	c->abandoned = true;
	atomic_store(&c->stop, true);
	if (c->ticket)
		ticket_cancel(c->ticket);
}

void derive_stop(struct derive *d)
{
	if (!d)
		return;
	LOCK_SCOPE(&d->lock);
	if (d->stopped)
		return;
	d->stopped = true;
	pthread_cond_broadcast(&d->idle_change);
	for (struct conversion *c = d->conversions; c; c = c->next)
		conversion_give_up(c);
	for (struct partial *p = d->partials; p; p = p->next)
		partial_stop(p);
}

/* Ends the thread of idle.c. After derive_stop() nothing starts it, and nothing is appended. */
static void idle_end(struct derive *d)
{
	struct idle_file *f;

	if (d->idler_runs)
		pthread_join(d->idler, NULL);
	while ((f = d->idle)) {
		d->idle = f->next;
		free(f);
	}
}

void derive_free(struct derive *d)
{
	if (!d)
		return;
	derive_stop(d);
	idle_end(d);
	pthread_mutex_lock(&d->lock);
	while (d->asking)
		pthread_cond_wait(&d->answered, &d->lock);
	pthread_mutex_unlock(&d->lock);
	workers_free(d->workers);
	pulse_end(d);
	pthread_cond_destroy(&d->ended);
	pthread_cond_destroy(&d->idle_change);
	pthread_cond_destroy(&d->asked_ended);
	pthread_cond_destroy(&d->answered);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* ---- callers ------------------------------------------------------------------------- */

/* Whether both make the same file, and ask for the same inputs. With a build id more sources are asked for the inputs
 * of a Breakpad file than without, so such a request must not share the miss of the other. */
static bool is_same(const struct conversion *a, const struct conversion *b)
{
	return key_equal(&a->name, &b->name) &&
		(a->kind->type != FILETYPE_SYM || strcmp(a->a.m.code_id, b->a.m.code_id) == 0);
}

/* Under lock. */
static struct conversion *conversion_find(struct derive *d, const struct conversion *fresh)
{
	struct conversion *c = d->conversions;

	while (c && (c->abandoned || !is_same(c, fresh)))
		c = c->next;
	return c;
}

bool derive_join(struct derive *d, struct making *m, struct conversion *fresh)
{
	LOCK_SCOPE(&d->lock);
	struct conversion *c = conversion_find(d, fresh);

	m->on = c ? c : fresh;
	m->next = m->on->callers;
	m->on->callers = m;
	if (c)
		return false;
	fresh->next = d->conversions;
	d->conversions = fresh;
	d->begun++;
	return true;
}

void making_cancel(struct making *m)
{
	struct fetched f = {.r = -EINTR, .why = "interrupted", .size = FETCH_SIZE_UNKNOWN};
	struct conversion *c;

	pthread_mutex_lock(&m->d->lock);
	c = m->on;
	if (c) {
		struct making **at = &c->callers;

		while (*at != m)
			at = &(*at)->next;
		*at = m->next;
		m->on = NULL;
		f.key = c->name;
		if (!c->callers && !c->abandoned)
			conversion_give_up(c);
	}
	pthread_mutex_unlock(&m->d->lock);
	if (!c)
		return;
	if (m->ready)
		m->ready(m->ctx, &f);
	making_unref(m);
}

/* ---- the end of a conversion --------------------------------------------------------- */

/* Removes the conversion, so that callers can no longer join it, and other processes can make the file. Returns its
 * callers. */
static struct making *table_remove(struct conversion *c)
{
	LOCK_SCOPE(&c->d->lock);
	struct conversion **at = &c->d->conversions;

	follow_end(&c->follow, c->d->store, key_number(&c->key));
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	pthread_cond_broadcast(&c->d->idle_change);
	for (struct making *m = c->callers; m; m = m->next)
		m->on = NULL;
	return c->callers;
}

void making_unref(struct making *m)
{
	if (m && atomic_fetch_sub(&m->refs, 1) == 1)
		free(m);
}

void derive_finish(struct conversion *c, int r, struct blob *b)
{
	struct fetched f = {.r = r, .key = c->key, .blob = r < 0 ? NULL : b, .miss_ms = 2000,
		.size = b ? blob_size(b) : FETCH_SIZE_UNKNOWN};
	struct making *m, *next;

	m = table_remove(c);
	f.why = r == -ENOENT && !c->in && c->kind->type == FILETYPE_SYM ? derive_breakpad_why(&c->a)
		: c->e.text[0] ? c->e.text : err_text(r);
	for (; m; m = next) {
		next = m->next;
		if (m->ready)
			m->ready(m->ctx, &f);
		making_unref(m);
	}
	blob_unref(c->in);
	blob_unref(c->code);
	blob_unref(c->published);
	blob_unref(c->alt.blob);
	blob_unref(c->package.blob);
	blob_unref(c->unit);
	draft_discard(c->found);
	free(c->ids);
	free(c);
}

/* ---- asking for files ---------------------------------------------------------------- */

/* Releases the ticket in its callback, before derive_go_on(), because derive_go_on() can free the conversion. */
static void ticket_ran(struct conversion *c)
{
	LOCK_SCOPE(&c->d->lock);

	ticket_unref(take(c->ticket));
}

static void conversion_ready(void *ctx, const struct fetched *f)
{
	struct conversion *c = ctx;
	struct derive *d = c->d;

	ticket_ran(c);
	c->got(c, f);
	derive_go_on(c);
	derive_asked(d);
}

int derive_ask(struct conversion *c, const struct artifact *a, unsigned n, enum derive_wants wants,
	void (*got)(struct conversion *c, const struct fetched *f))
{
	struct derive *d = c->d;
	int r;

	LOCK_SCOPE(&d->lock);
	if (d->stopped || c->abandoned)
		return -EINTR;
	c->wants = wants;
	c->got = got;
	d->asking++;
	r = fetch_open(d->fetch, a, n, FETCH_WHOLE, conversion_ready, c, &c->ticket);
	if (r < 0)
		d->asking--;
	return r;
}

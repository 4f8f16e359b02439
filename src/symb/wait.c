/* Lets one thread wait for many answers of fetch/ and derive/ at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/wait.h"
#include "base/clock.h"
#include "base/util.h"

#include <stdio.h>
#include <time.h>

#define LOOK_MS 200 /* interval between checks of `stop` and `gone` */

struct waits *waits_new(void)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->change, NULL);
	w->refs = 1;
	return w;
}

void waits_unref(struct waits *w)
{
	bool last;

	pthread_mutex_lock(&w->lock);
	last = --w->refs == 0;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	pthread_cond_destroy(&w->change);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct question *question_new(struct waits *w)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->w = w;
	q->refs = 2;
	q->begun = clock_seconds();
	LOCK_SCOPE(&w->lock);
	w->refs++;
	w->pending++;
	return q;
}

void question_unref(struct question *q)
{
	struct waits *w;
	bool last;

	if (!q)
		return;
	w = q->w;
	pthread_mutex_lock(&w->lock);
	last = --q->refs == 0;
	pthread_mutex_unlock(&w->lock);
	if (!last)
		return;
	ticket_unref(q->ticket);
	making_unref(q->making);
	partial_unref(q->partial);
	blob_unref(q->blob);
	free(q);
	waits_unref(w);
}

static void answer(struct question *q, int r, struct blob *b, const struct key *k, const char *why)
{
	pthread_mutex_lock(&q->w->lock);
	q->r = r;
	q->blob = r == 0 && b ? blob_ref(b) : NULL;
	if (k)
		q->key = *k;
	snprintf(q->why, sizeof(q->why), "%s", why ? why : "");
	q->ended = clock_seconds();
	q->done = true;
	q->before = q->w->done;
	q->w->done = q;
	q->w->pending--;
	pthread_cond_signal(&q->w->change);
	pthread_mutex_unlock(&q->w->lock);
	question_unref(q);
}

void question_answered(void *ctx, const struct fetched *f)
{
	answer(ctx, f->r, f->blob, &f->key, f->why);
}

void question_fail(struct question *q, int r)
{
	answer(q, r, NULL, NULL, err_text(r));
}

bool question_fetch(struct question *q, struct fetch *f, const struct artifact *cands, unsigned n)
{
	struct fetched now = {0};
	int r = fetch_try(f, cands, n, FETCH_WHOLE, &now);

	if (r == 0) {
		answer(q, now.r, now.blob, &now.key, now.why);
		blob_unref(now.blob);
		return false;
	}
	r = fetch_open(f, cands, n, FETCH_WHOLE, question_answered, q, &q->ticket);
	if (r < 0)
		question_fail(q, r);
	return true;
}

void question_cancel(struct question *q)
{
	if (q && q->ticket)
		ticket_cancel(q->ticket);
	if (q && q->making)
		making_cancel(q->making);
	if (q && q->partial)
		partial_cancel(q->partial);
	question_unref(q);
}

/* (under lock) Waits for an answer, at most LOOK_MS. */
static void pause_for_change(struct waits *w)
{
	struct timespec until = clock_after(CLOCK_REALTIME, LOOK_MS);

	pthread_cond_timedwait(&w->change, &w->lock, &until);
}

static bool stops(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

int wait_next(struct waits *w, const atomic_bool *stop, const atomic_bool *gone, struct question **out)
{
	LOCK_SCOPE(&w->lock);

	while (!w->done && w->pending && !stops(stop) && !stops(gone))
		pause_for_change(w);
	*out = w->done;
	if (w->done)
		w->done = w->done->before;
	return !*out && w->pending ? -EINTR : 0;
}

int wait_all(struct waits *w, const atomic_bool *stop)
{
	LOCK_SCOPE(&w->lock);

	while (w->pending && !stops(stop))
		pause_for_change(w);
	return w->pending ? -EINTR : 0;
}

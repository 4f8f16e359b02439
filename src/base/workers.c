/* A pool of worker threads with one queue. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/workers.h"
#include "base/clock.h"
#include "base/util.h"

#include <signal.h>
#include <time.h>

struct job {
	struct job *next;
	void (*fn)(void *ctx);
	void *ctx;
};

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* under lock */
	struct job *first, **last;
	unsigned queued; /* jobs in the list */
	bool stopping;
	unsigned running;
	pthread_cond_t ended;
	/* constant after workers_new() */
	unsigned n;
	pthread_t threads[];
};

static void cond_init_monotonic(pthread_cond_t *c)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

static struct job *next_job(struct workers *w)
{
	LOCK_SCOPE(&w->lock);
	struct job *j;

	while (!w->first && !w->stopping)
		pthread_cond_wait(&w->more, &w->lock);
	j = w->first;
	if (j) {
		w->first = j->next;
		w->queued--;
		if (!w->first)
			w->last = &w->first;
	}
	return j;
}

static void *worker_main(void *arg)
{
	struct workers *w = arg;
	struct job *j;

	while ((j = next_job(w))) {
		j->fn(j->ctx);
		free(j);
	}
	LOCK_SCOPE(&w->lock);
	w->running--;
	pthread_cond_broadcast(&w->ended);
	return NULL;
}

int workers_new(struct workers **out, unsigned threads)
{
	struct workers *w = calloc(1, sizeof(*w) + threads * sizeof(pthread_t));
	sigset_t all, old;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	cond_init_monotonic(&w->ended);
	w->last = &w->first;
	/* The main thread handles all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&w->lock);
	while (w->n < threads && pthread_create(&w->threads[w->n], NULL, worker_main, w) == 0)
		w->n++;
	w->running = w->n;
	pthread_mutex_unlock(&w->lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (w->n == 0) {
		workers_free(w);
		return -EAGAIN;
	}
	*out = w;
	return 0;
}

int workers_post(struct workers *w, void (*fn)(void *ctx), void *ctx)
{
	struct job *j = malloc(sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = (struct job){.fn = fn, .ctx = ctx};
	LOCK_SCOPE(&w->lock);
	*w->last = j;
	w->last = &j->next;
	w->queued++;
	pthread_cond_signal(&w->more);
	return 0;
}

unsigned workers_queued(struct workers *w)
{
	LOCK_SCOPE(&w->lock);

	return w->queued;
}

static void workers_stop(struct workers *w)
{
	LOCK_SCOPE(&w->lock);

	w->stopping = true;
	pthread_cond_broadcast(&w->more);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	workers_stop(w);
	for (unsigned i = 0; i < w->n; i++)
		pthread_join(w->threads[i], NULL);
	pthread_cond_destroy(&w->ended);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static bool workers_wait(struct workers *w, unsigned ms)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, ms);
	LOCK_SCOPE(&w->lock);

	while (w->running && pthread_cond_timedwait(&w->ended, &w->lock, &until) == 0)
		;
	return w->running == 0;
}

bool workers_end(struct workers *w, unsigned ms)
{
	if (!w)
		return true;
	workers_stop(w);
	if (!workers_wait(w, ms))
		return false;
	workers_free(w);
	return true;
}

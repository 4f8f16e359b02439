/* Converts files for later requests while no caller asks for a conversion. One file is converted at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "derive/private.h"

#include <stdlib.h>

#define IDLE_MS 200    /* conversions begin when none was asked for in this time */
#define IDLE_MOST 1024 /* files that wait; a further one is converted after a later request */

/* (under lock) Waits at most IDLE_MS. Whether no conversion ran or began in this time. `own`: d->begun after this
 * thread began its last conversion; if no other has begun since, its end is enough. */
static bool wait_idle(struct derive *d, uint64_t own)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, IDLE_MS);
	uint64_t begun = d->begun;

	if (d->conversions || d->partials) {
		pthread_cond_timedwait(&d->idle_change, &d->lock, &until);
		return false;
	}
	while (begun != own && !d->stopped && pthread_cond_timedwait(&d->idle_change, &d->lock, &until) == 0)
		;
	return !d->stopped && d->begun == begun;
}

static void *idle_main(void *arg)
{
	struct derive *d = arg;
	uint64_t own = 0;
	LOCK_SCOPE(&d->lock);

	while (!d->stopped) {
		struct idle_file *f = d->idle;
		struct making *m = NULL;

		if (!f) {
			pthread_cond_wait(&d->idle_change, &d->lock);
			continue;
		}
		if (!wait_idle(d, own))
			continue;
		d->idle = f->next; /* other threads only append */
		d->n_idle--;
		pthread_mutex_unlock(&d->lock);
		if (derive_open(d, &f->made, NULL, NULL, &m) == 0)
			making_unref(m);
		free(f);
		pthread_mutex_lock(&d->lock);
		own = d->begun;
	}
	return NULL;
}

/* (under lock) Whether the file waits already, or no more can wait. */
static bool is_taken(const struct derive *d, const struct key *k)
{
	for (const struct idle_file *f = d->idle; f; f = f->next)
		if (key_equal(&f->key, k))
			return true;
	return d->n_idle >= IDLE_MOST;
}

/* Under lock. */
static void append(struct derive *d, struct idle_file *f)
{
	struct idle_file **at = &d->idle;

	while (*at)
		at = &(*at)->next;
	*at = f;
	d->n_idle++;
	pthread_cond_broadcast(&d->idle_change);
}

void idle_add(struct derive *d, const struct artifact *a)
{
	struct idle_file *f = calloc(1, sizeof(*f));

	if (!f || derive_exact(d, a, false, &f->made) < 0 || derive_key(&f->made, &f->key) < 0) {
		free(f);
		return;
	}
	pthread_mutex_lock(&d->lock);
	if (d->idles && !d->stopped && !d->idler_runs)
		d->idler_runs = pthread_create(&d->idler, NULL, idle_main, d) == 0;
	if (d->idler_runs && !d->stopped && !is_taken(d, &f->key))
		append(d, take(f));
	pthread_mutex_unlock(&d->lock);
	free(f);
}

void derive_convert_idle(struct derive *d)
{
	LOCK_SCOPE(&d->lock);

	d->idles = true;
}

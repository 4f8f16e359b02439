/* Detects hung directory sources: a thread stuck in one keeps further threads out. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* Returns a number that identifies the source's directory, also after a reload, which makes new sources: a hash
 * of the path. A server has no path, so the number is a hash of its name: all directories to which the server's
 * file.ptr files point count as one. */
static uint64_t dir_of(const struct source *s)
{
	const char *where = s->o.path ? s->o.path : s->name;

	return hash_mix(where, strlen(where)) | 1;
}

int dir_enter(struct fetch *f, const struct source *s, char why[static 200])
{
	int slot = DIR_THREADS_MOST; /* if no slot is free, this thread is not counted */
	uint64_t dir = dir_of(s), now;
	unsigned inside = 0;
	LOCK_SCOPE(&f->lock);

	now = clock_ms(); /* under the lock, so that no thread entered after `now` */
	for (int i = 0; i < DIR_THREADS_MOST; i++) {
		struct dir_thread *v = &f->dir_threads[i];

		if (!v->dir)
			slot = i;
		inside += v->dir == dir;
		if (v->dir == dir && now - v->since > DIR_HUNG_MS) {
			snprintf(why, 200, "has not answered for %llu s",
				(unsigned long long)((now - v->since) / 1000));
			/* The disk may have to spin up, so the answer may still come before the lookup deadline. */
			return now - v->since < f->opts.lookup_deadline_ms ? -EAGAIN : -ETIMEDOUT;
		}
	}
	if (inside >= DIR_THREADS_EACH) {
		snprintf(why, 200, "%u threads are waiting in it", inside);
		return -EAGAIN;
	}
	if (slot < DIR_THREADS_MOST)
		f->dir_threads[slot] = (struct dir_thread){dir, now};
	return slot;
}

void dir_still(struct fetch *f, int slot)
{
	LOCK_SCOPE(&f->lock);

	if (slot >= 0 && slot < DIR_THREADS_MOST)
		f->dir_threads[slot].since = clock_ms();
}

void dir_leave(struct fetch *f, int slot)
{
	LOCK_SCOPE(&f->lock);

	if (slot >= 0 && slot < DIR_THREADS_MOST)
		f->dir_threads[slot].dir = 0;
}

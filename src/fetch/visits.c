/* Detects hung directory sources: a thread stuck in one keeps further threads out. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* By value: a reload makes new sources. What a server's file.ptr leads to is the server's. */
static uint64_t dir_of(const struct source *s)
{
	const char *where = s->o.path ? s->o.path : s->name;

	return hash_mix(where, strlen(where)) | 1;
}

int visit_begin(struct fetch *f, const struct source *s, char why[static 200])
{
	int slot = VISITS_MOST; /* all are taken: this visit is not counted */
	uint64_t dir = dir_of(s), now;
	unsigned inside = 0;
	LOCK_SCOPE(&f->lock);

	now = clock_ms(); /* under the lock, or a visit could have begun later than now */
	for (int i = 0; i < VISITS_MOST; i++) {
		struct visit *v = &f->visits[i];

		if (!v->dir)
			slot = i;
		inside += v->dir == dir;
		if (v->dir == dir && now - v->since > VISIT_LONG_MS) {
			snprintf(why, 200, "has not answered for %llu s",
				(unsigned long long)((now - v->since) / 1000));
			/* A disk that has to spin up first is worth the first deadline. */
			return now - v->since < f->opts.lookup_deadline_ms ? -EAGAIN : -ETIMEDOUT;
		}
	}
	if (inside >= VISITORS_MOST) {
		snprintf(why, 200, "%u are in it", inside);
		return -EAGAIN;
	}
	if (slot < VISITS_MOST)
		f->visits[slot] = (struct visit){dir, now};
	return slot;
}

void visit_end(struct fetch *f, int visit)
{
	LOCK_SCOPE(&f->lock);

	if (visit >= 0 && visit < VISITS_MOST)
		f->visits[visit].dir = 0;
}

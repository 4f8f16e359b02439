/* Wrong files, remembered in memory: a source that sent one is not asked for that file again for a while. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"

#include <stdio.h>

uint64_t attempt_number(const struct attempt *at)
{
	return seen_number(at->flight->number, at->source, &at->ask);
}

uint64_t query_number(const struct query *q)
{
	return seen_number(q->attempt->flight->number, q->attempt->source, &q->ask);
}

const struct mismatch *mismatch_find(const struct query *q)
{
	struct fetch *f = q->attempt->flight->f;
	uint64_t now = clock_ms(), asked = query_number(q);

	for (size_t i = 0; i < MISMATCHES; i++) {
		const struct mismatch *m = &f->mismatches[i];

		if (m->asked == asked && m->until > now)
			return m;
	}
	return NULL;
}

void attempt_set_aside(const struct attempt *at, int error, const char *text)
{
	struct fetch *f = at->flight->f;
	struct mismatch *m = &f->mismatches[f->next_mismatch++ % MISMATCHES];

	*m = (struct mismatch){clock_ms() + MISMATCH_MS, attempt_number(at), error, ""};
	snprintf(m->text, sizeof(m->text), "%.190s", text);
}

void mismatch_add(const struct attempt *at, int error, const char *text)
{
	attempt_set_aside(at, error, text);
	atomic_fetch_add(&at->flight->f->stats.mismatches, 1);
	log_warn("%s: source %s sent %s: %s", at->flight->canon, at->source->name,
		error == -EFBIG ? "too much" : "the wrong file", text);
}

bool absent_find(const struct query *q)
{
	uint64_t asked = query_number(q);
	const struct absent *a = &q->attempt->flight->f->absents[asked % ABSENT_MOST];

	return a->asked == asked && a->until > clock_ms();
}

void absent_add(const struct attempt *at)
{
	int64_t least = MIN(at->source->o.miss_seconds, MISMATCH_MS / 1000);

	for (unsigned i = 0; i < at->n_queries; i++) {
		uint64_t asked = query_number(&at->queries[i]);

		if (at->queries[i].state == QUERY_MISSING)
			at->flight->f->absents[asked % ABSENT_MOST] =
				(struct absent){clock_ms() + (uint64_t)MAX(least, 0) * 1000, asked};
	}
}

/* Counts how long each source takes to answer requests, for /metrics. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/flight.h"

#include <stdio.h>
#include <string.h>

const unsigned fetch_latency_bounds[FETCH_LATENCY_BOUNDS] = {5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};

/* The row of a source, which keeps its place when the sources are replaced. NULL: there are too many. The caller
 * holds f->lock. */
static struct fetch_latency *row_of(struct fetch *f, const char *source)
{
	unsigned i = 0;

	while (i < f->n_latencies && strcmp(f->latencies[i].source, source) != 0)
		i++;
	if (i == FETCH_LATENCIES_MOST)
		return NULL;
	if (i == f->n_latencies) {
		snprintf(f->latencies[i].source, sizeof(f->latencies[i].source), "%s", source);
		f->n_latencies++;
	}
	return &f->latencies[i];
}

void latency_answered(const struct query *q)
{
	const struct attempt *at = q->attempt;
	struct fetch *f = at->flight->f;
	uint64_t turn = q->transfer ? transfer_its_turn(q->transfer) : 0, ms = clock_ms() - MAX(q->sent, turn);
	struct fetch_latency *row;
	unsigned i = 0;
	LOCK_SCOPE(&f->lock);

	row = row_of(f, at->source->name);
	if (!row)
		return;
	while (i < FETCH_LATENCY_BOUNDS && ms > fetch_latency_bounds[i])
		i++;
	row->answers[i]++;
	row->ms += ms;
}

void latency_failed(const struct query *q)
{
	struct fetch *f = q->attempt->flight->f;
	struct fetch_latency *row;
	LOCK_SCOPE(&f->lock);

	row = row_of(f, q->attempt->source->name);
	if (row)
		row->failed++;
}

unsigned fetch_latencies(struct fetch *f, struct fetch_latency *rows, unsigned most)
{
	LOCK_SCOPE(&f->lock);
	unsigned n = MIN(most, f->n_latencies);

	memcpy(rows, f->latencies, n * sizeof(*rows));
	return n;
}

unsigned fetch_queued(struct fetch *f)
{
	return workers_queued(f->workers);
}

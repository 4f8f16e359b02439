/* What fetch records for people: how long sources take to answer, what they answered last, and how often files are
 * asked for that are missing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/flight/flight.h"

#include <stdio.h>
#include <string.h>

/* ---- the times of answers, for /metrics ------------------------------------------------- */

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

void latency_add(const struct query *q, bool answered)
{
	const struct attempt *at = q->attempt;
	struct fetch *f = at->flight->f;
	uint64_t turn = q->transfer ? transfer_its_turn(q->transfer) : 0, ms = clock_ms() - MAX(q->sent, turn);
	struct fetch_latency *row;
	unsigned i = 0;
	LOCK_SCOPE(&f->lock);

	row = row_of(f, at->source->name);
	if (row && !answered)
		row->failed++;
	if (!row || !answered)
		return;
	while (i < FETCH_LATENCY_BOUNDS && ms > fetch_latency_bounds[i])
		i++;
	row->answers[i]++;
	row->ms += ms;
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

/* ---- the last answer of each source that was not a file, for .symfs/why ------------- */

/* Hashes the source's name and URL instead of its address in memory: after a reload, a new source may have the
 * address of an old one. */
uint64_t seen_number(uint64_t key_number, const struct source *s, const struct source_ask *ask)
{
	const char *where = ask->where ? ask->where : "";

	return key_number ^ hash_mix(s->name, strlen(s->name)) * 31 ^ hash_mix(where, strlen(where));
}

void seen_add(struct fetch *f, uint64_t number, int error, const char *text)
{
	LOCK_SCOPE(&f->lock);
	struct seen *s = &f->seen[number % SEEN_MOST];

	*s = (struct seen){.number = number, .when = clock_ms(), .error = error};
	snprintf(s->text, sizeof(s->text), "%.190s", text);
}

bool seen_find(struct fetch *f, uint64_t number, struct seen *out)
{
	LOCK_SCOPE(&f->lock);

	*out = f->seen[number % SEEN_MOST];
	return out->when && out->number == number;
}

/* ---- remembered misses: their names, and how often callers ask for them ------------- */

/* Whether the layout asks by code id for files whose keys have a debug id. */
static bool asks_by_code_id(const struct layout *l, const struct artifact *a)
{
	const struct layout_row *row = l->rows;

	while (row->pattern && !(row->type == a->type && (row->object == a->m.object || !row->object) &&
		strstr(row->pattern, "{code:")))
		row++;
	return row->pattern && filetypes[a->type].id == ID_DEBUG;
}

const char *miss_name(const struct source *s, const struct artifact *a, char room[static MISS_NAME])
{
	const char *name = layout_name_of(s->layout, a);
	char trimmed[CODE_ID_MAX + 1];

	memcpy(trimmed, a->m.code_id, sizeof(trimmed));
	pe_id_trim(trimmed);
	if (!a->m.code_id[0] || !(asks_by_code_id(s->layout, a) ||
		(filetypes[a->type].flags & TYPE_PE_ID && strcmp(trimmed, a->m.code_id) != 0)))
		return name;
	snprintf(room, MISS_NAME, "%s %s", name, a->m.code_id);
	return room;
}

void miss_counts_flush(struct fetch *f)
{
	_cleanup_free_ struct store_asked *asked = calloc(MISS_COUNTS_MOST, sizeof(*asked));
	unsigned n;

	if (!asked)
		return;
	pthread_mutex_lock(&f->lock);
	n = f->n_miss_counts;
	memcpy(asked, f->miss_counts, n * sizeof(*asked));
	f->n_miss_counts = 0;
	pthread_mutex_unlock(&f->lock);
	if (n)
		store_misses_asked(f->store, asked, n);
}

int64_t miss_counts_get(struct fetch *f, const struct key *k)
{
	LOCK_SCOPE(&f->lock);

	for (unsigned i = 0; i < f->n_miss_counts; i++)
		if (key_equal(&f->miss_counts[i].key, k))
			return f->miss_counts[i].times;
	return 0;
}

static void miss_counts_work(void *ctx)
{
	miss_counts_flush(ctx);
}

/* Exact counts are not needed: if the table is full, further keys are not counted until the next flush. */
void miss_counts_add(struct fetch *f, const struct key *k)
{
	unsigned i = 0;
	bool full;

	pthread_mutex_lock(&f->lock);
	while (i < f->n_miss_counts && !key_equal(&f->miss_counts[i].key, k))
		i++;
	if (i == f->n_miss_counts && i < MISS_COUNTS_MOST)
		f->miss_counts[f->n_miss_counts++] = (struct store_asked){.key = *k};
	if (i < MISS_COUNTS_MOST)
		f->miss_counts[i].times++;
	full = i == MISS_COUNTS_MOST - 1 && f->miss_counts[i].times == 1;
	pthread_mutex_unlock(&f->lock);
	if (full)
		workers_post(f->workers, miss_counts_work, f);
}

/* ---- notes -------------------------------------------------------------------------------------------------- */

struct note {
	struct fetch *f;
	char name[100], text[201];
};

static void note_write(void *ctx)
{
	struct note *n = ctx;

	store_note_set(n->f->store, n->name, n->text);
	free(n);
}

void fetch_note_save(struct fetch *f, const char *name, const char *text)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->f = f;
	snprintf(n->name, sizeof(n->name), "%s", name);
	snprintf(n->text, sizeof(n->text), "%s", text);
	if (workers_post(f->workers, note_write, n) < 0)
		free(n);
}

/* Remembered misses: the name of each, and how often callers ask for its file, for lists of misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* Whether the layout asks by code id for files whose keys have a debug id. */
static bool asks_by_code_id(const struct layout *l, const struct artifact *a)
{
	const struct layout_row *row = l->rows;

	while (row->pattern && !(row->type == a->type && (row->object == a->m.object || !row->object) &&
		strstr(row->pattern, "{code:")))
		row++;
	return row->pattern && filetype_row(a->type)->id == ID_DEBUG;
}

const char *miss_name(const struct source *s, const struct artifact *a, char room[static MISS_NAME])
{
	const char *name = layout_name_of(s->layout, a);
	char trimmed[CODE_ID_MAX + 1];

	memcpy(trimmed, a->m.code_id, sizeof(trimmed));
	pe_id_trim(trimmed);
	if (!a->m.code_id[0] || !(asks_by_code_id(s->layout, a) ||
		(filetype_is(a->type, TYPE_PE_ID) && strcmp(trimmed, a->m.code_id) != 0)))
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

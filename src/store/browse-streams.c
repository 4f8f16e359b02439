/* Listings: one walk along an order of the index, in all classes of keys at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

void browse_streams_end(struct browse *b)
{
	for (unsigned i = 0; i < b->streams; i++)
		index_rows_release(b->stream[i].rows, b->stream[i].n);
	b->streams = 0;
}

int browse_streams_begin(struct browse *b)
{
	unsigned n = 1;

	browse_streams_end(b);
	for (unsigned class = 0; class < KEY_CLASSES; class++)
		n += b->part->range.classes[class];
	free(b->stream);
	b->stream = calloc(n, sizeof(*b->stream));
	if (!b->stream)
		return -ENOMEM;
	for (unsigned class = 0; class < KEY_CLASSES; class++)
		if (b->part->range.classes[class])
			b->stream[b->streams++].class = class;
	return 0;
}

static int compare(const char *text, int64_t id, const char *text2, int64_t id2)
{
	int c = strcmp(text, text2);

	return c ? c : (id > id2) - (id < id2);
}

static int refill(struct browse *b, struct browse_stream *st, const struct browse_place *from)
{
	const struct listing_range *g = &b->part->range;
	struct browse_place at = *from;
	int r;

	if (st->n) {
		const struct index_row *last = &st->rows[st->n - 1];

		if (compare(last->place, last->id, at.text, at.id) > 0) {
			snprintf(at.text, sizeof(at.text), "%s", last->place);
			at.id = last->id;
		}
	}
	index_rows_release(st->rows, st->n);
	st->n = st->i = 0;
	if (b->part->what == LISTING_IDS) {
		char end[KEY_ID_MAX + 1];

		browse_range_end(g, end);
		r = index_view_ids(b->v, st->class, b->named ? &b->name : NULL, at.text, at.id, end,
			st->rows, AHEAD);
	} else {
		r = index_view_names(b->v, st->class, g->tiered ? g->tier : NULL, at.text, at.id,
			st->rows, AHEAD);
	}
	if (r < 0)
		return r;
	st->n = (unsigned)r;
	st->end = r < AHEAD;
	return 0;
}

/* The first row of a stream after the place; NULL: there is no such row. */
int browse_stream_row(struct browse *b, struct browse_stream *st, const struct browse_place *at,
	const struct index_row **out)
{
	for (*out = NULL;;) {
		const struct index_row *row = &st->rows[st->i];
		int r;

		if (st->i < st->n && compare(row->place, row->id, at->text, at->id) > 0) {
			*out = row;
			return 0;
		}
		if (st->i < st->n) {
			st->i++;
			continue;
		}
		if (st->end)
			return 0;
		r = refill(b, st, at);
		if (r < 0)
			return r;
	}
}

/* The least row of all streams after the place. */
int browse_least_row(struct browse *b, const struct browse_place *at, const struct index_row **out)
{
	*out = NULL;
	for (unsigned i = 0; i < b->streams; i++) {
		const struct index_row *row;
		int r = browse_stream_row(b, &b->stream[i], at, &row);

		if (r < 0)
			return r;
		if (row && (!*out || compare(row->place, row->id, (*out)->place, (*out)->id) < 0))
			*out = row;
	}
	return 0;
}

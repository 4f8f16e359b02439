/* Listings: the part whose entries come in the order of id prefixes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NTH_BITS 6 /* bits of an offset for the number of a path, among the paths of one key in one layout */
#define GROUP 64   /* names of one prefix that are sorted at a time */

/* The first names of one prefix after the name `last`, sorted. */
struct group {
	struct browse *b;
	char last[MODULE_NAME_MAX]; /* "": from the first name */
	int64_t id;		    /* the number of the key whose names are added */
	bool more;		    /* there are further names */
	unsigned n;
	struct group_name {
		struct browse_entry e;
		unsigned row;
		uint64_t place;
	} names[GROUP];
};

static int name_order(const struct listing_part *part, const char *a, const char *b)
{
	return part->with_case ? strcmp(a, b) : strcasecmp(a, b);
}

static void group_set(struct group *g, unsigned i, const struct browse_entry *e, unsigned row,
	unsigned nth)
{
	g->names[i] = (struct group_name){
		.e = *e, .row = row, .place = (uint64_t)g->id << NTH_BITS | nth};
}

static int group_add(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct group *g = ctx;
	unsigned i = g->n;
	int c = 1;

	if (g->last[0] && name_order(g->b->part, e->name, g->last) <= 0)
		return 0;
	while (i > 0 && (c = name_order(g->b->part, e->name, g->names[i - 1].e.name)) < 0)
		i--;
	if (i > 0 && c == 0) {
		/* A look-up tries the rows in their order. */
		if (row < g->names[i - 1].row)
			group_set(g, i - 1, e, row, nth);
		return 0;
	}
	g->more = g->more || g->n == GROUP;
	if (i == GROUP)
		return 0;
	g->n = MIN(g->n + 1, (unsigned)GROUP);
	memmove(&g->names[i + 1], &g->names[i], (g->n - 1 - i) * sizeof(g->names[0]));
	group_set(g, i, e, row, nth);
	return 0;
}

/* Adds the names of the keys of one prefix and one class. */
static int group_class(struct group *g, struct browse_stream *st, const char *prefix)
{
	struct browse_print p = {.b = g->b, .part = g->b->part, .each = group_add, .ctx = g};
	struct browse_place at = {.id = 0};
	const struct index_row *row;
	int r;

	snprintf(at.text, sizeof(at.text), "%s", prefix);
	while ((r = browse_stream_row(g->b, st, &at, &row)) == 0 && row && strcmp(row->place, prefix) == 0) {
		struct key k;

		at.id = g->id = row->id;
		if (g->b->part->one_each && p.any)
			continue;
		r = browse_key_of_row(g->b, row, &k);
		p.k = &k;
		if (r == 0)
			r = browse_print_key(&p);
		if (r < 0)
			return r;
	}
	return r;
}

/* Adds the entries of a prefix after the name `last`. *more: further entries are left. */
static int fill_prefix(struct browse *b, const char *prefix, const char *last, bool *more)
{
	_cleanup_free_ struct group *g = calloc(1, sizeof(*g));
	int r = g ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	g->b = b;
	snprintf(g->last, sizeof(g->last), "%s", last);
	for (unsigned i = 0; r == 0 && i < b->streams; i++)
		r = group_class(g, &b->stream[i], prefix);
	*more = g->more;
	for (unsigned i = 0; r == 0 && i < g->n; i++) {
		if (browse_is_full(b)) {
			*more = true;
			break;
		}
		r = browse_add(b, &g->names[i].e, g->names[i].place);
	}
	return r;
}

struct nth_name {
	unsigned nth;
	char name[MODULE_NAME_MAX];
};

static int find_nth(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth)
{
	struct nth_name *f = ctx;

	if (nth == f->nth)
		snprintf(f->name, sizeof(f->name), "%s", e->name);
	return nth == f->nth;
}

/* Finds the id prefix of an offset's key, and the name that the key printed at that offset. The key may
 * have been dropped recently. */
static int prefix_place(struct browse *b, uint64_t after, struct browse_place *at,
	char last[static MODULE_NAME_MAX])
{
	struct nth_name f = {.nth = after & ((1u << NTH_BITS) - 1)};
	struct browse_print p = {.b = b, .part = b->part, .each = find_nth, .ctx = &f};
	struct key k;
	int r;

	*at = (struct browse_place){.id = 0};
	last[0] = '\0';
	if (!after) {
		snprintf(at->text, sizeof(at->text), "%s", b->part->range.prefix);
		return 0;
	}
	r = index_view_key_place(b->v, (int64_t)(after >> NTH_BITS), at->text, &k);
	p.k = &k;
	if (r == 0)
		r = MIN(browse_print_key(&p), 0);
	snprintf(last, MODULE_NAME_MAX, "%s", f.name);
	return r;
}

int browse_fill_ids(struct browse *b, uint64_t after)
{
	char last[MODULE_NAME_MAX];
	struct browse_place at;
	int r = prefix_place(b, after, &at, last);

	b->named = b->part->range.name[0];
	if (r == 0 && b->named)
		r = index_view_name(b->v, b->part->range.name, &b->name);
	if (r == 0)
		r = browse_streams_begin(b);
	while (r == 0 && !browse_is_full(b)) {
		const struct index_row *row;
		struct browse_place next;
		bool more;

		r = browse_least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		if (strcmp(next.text, at.text) != 0)
			last[0] = '\0';
		at = next;
		r = fill_prefix(b, at.text, last, &more);
		if (r < 0 || browse_is_full(b))
			break;
		if (more) {
			snprintf(last, sizeof(last), "%s", b->out[b->n - 1].name);
			at.id = 0;
			r = browse_streams_begin(b);
		} else {
			at.id = INT64_MAX;
		}
	}
	return r;
}

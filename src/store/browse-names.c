/* Listings: the parts that have one entry for each file name, and one for each tier of file names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/util.h"
#include "layout/layout.h"

#include <stdio.h>
#include <string.h>

/* Whether a key of the class with this name prints an entry. 1: the entry is in *out; 0: no; -errno. */
static int prints_any(struct browse *b, unsigned class, const char *name, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = b->part};
	struct listing_range g = {.prefix = ""};
	struct index_name had = b->name;
	bool named = b->named;
	struct key k = {.type = class / KEY_FORMS};
	char folded[MODULE_NAME_MAX];
	int r;

	snprintf(k.name, sizeof(k.name), "%s", name);
	r = index_view_name(b->v, key_folded(&k, folded), &b->name);
	b->named = true;
	if (r == 0)
		r = browse_first_of_class(b, &p, &g, class, out);
	b->name = had;
	b->named = named;
	return r == -ENOENT ? 0 : r;
}

/* Adds the entry of the name at a place, from the first class that prints such an entry. */
static int fill_name(struct browse *b, const struct browse_place *at)
{
	struct browse_entry e;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->streams; i++) {
		const struct browse_stream *st = &b->stream[i];
		const struct index_row *row = &st->rows[st->i];

		if (st->i < st->n && row->id == at->id)
			r = layout_class_varies(st->class) ? prints_any(b, st->class, row->text, &e)
				: browse_print_name(b, b->part, st->class, row->text, NULL, &e);
	}
	return r > 0 ? browse_add(b, &e, (uint64_t)at->id) : r;
}

/* The place of the name that an offset stands for, even if that name was dropped recently. */
static int name_place(struct browse *b, uint64_t after, struct browse_place *at)
{
	*at = (struct browse_place){.id = (int64_t)after};
	return after ? index_view_name_place(b->v, at->id, at->text) : 0;
}

int browse_fill_names(struct browse *b, uint64_t after)
{
	const struct index_row *row;
	struct browse_place at, next;
	int r = name_place(b, after, &at);

	if (r == 0)
		r = browse_streams_begin(b);
	while (r == 0 && !browse_is_full(b)) {
		r = browse_least_row(b, &at, &row);
		if (r < 0 || !row)
			break;
		next.id = row->id;
		snprintf(next.text, sizeof(next.text), "%s", row->place);
		r = fill_name(b, &next);
		at = next;
	}
	return r;
}

/* Adds one entry for each tier. The offset of a tier is the offset of a name in the tier. */
int browse_fill_tiers(struct browse *b, uint64_t after)
{
	struct browse_place at;
	int r = name_place(b, after, &at);

	while (r == 0 && !browse_is_full(b)) {
		struct browse_place least = {.id = 0};
		struct browse_entry e;

		at.id = at.text[0] ? INT64_MAX : 0;
		for (unsigned class = 0; class < KEY_CLASSES; class++) {
			struct index_row row;

			if (!b->part->range.classes[class])
				continue;
			r = index_view_names(b->v, class, NULL, at.text, at.id, &row, 1);
			if (r < 0)
				return r;
			if (r == 0)
				continue;
			if (!least.id || strcmp(row.place, least.text) < 0) {
				least.id = row.id;
				snprintf(least.text, sizeof(least.text), "%s", row.place);
			}
			free(row.text);
		}
		if (!least.id)
			return 0;
		at = least;
		r = browse_tier_has(b, b->part, at.text, NULL, &e);
		if (r > 0)
			r = browse_add(b, &e, (uint64_t)at.id);
	}
	return r;
}

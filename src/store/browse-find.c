/* Listings: whether a part of a listing has an entry, and adding an entry that no earlier part has. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* The first prefix after the range. */
void browse_range_end(const struct listing_range *g, char out[static KEY_ID_MAX + 1])
{
	snprintf(out, KEY_ID_MAX + 1, "%s%c", g->prefix, g->whole ? '0' : 'g');
}

/* Looks for a key of one class that prints an entry. 1: the entry is in *out; 0: no key does; -errno. */
int browse_first_of_class(struct browse *b, struct browse_print *p, const struct listing_range *g,
	unsigned class, struct browse_entry *out)
{
	char prefix[KEY_ID_MAX], end[KEY_ID_MAX + 1];
	struct index_row row = {.id = 0};
	int r = 1;

	browse_range_end(g, end);
	snprintf(prefix, sizeof(prefix), "%s", g->prefix);
	while (r > 0) {
		struct key k;

		r = index_view_ids(b->v, class, b->named ? &b->name : NULL, prefix, row.id, end, &row,
			1);
		if (r <= 0)
			break;
		snprintf(prefix, sizeof(prefix), "%.*s", KEY_ID_MAX - 1, row.place);
		r = browse_key_of_row(b, &row, &k);
		p->k = &k;
		p->each = browse_take_first;
		p->ctx = out;
		if (r == 0)
			r = browse_print_key(p);
		free(row.text);
		free(row.key);
		if (r != 0)
			return r;
		r = 1;
	}
	return r;
}

/* Looks for an entry of the part that keys of the range print. 1: the entry is in *out; 0: no key prints one;
 * -errno. */
int browse_first_of_range(struct browse *b, const struct listing_part *part,
	const struct listing_range *g, const char *only, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = part, .only = only};
	int r = 0;

	b->named = g->name[0];
	if (b->named)
		r = index_view_name(b->v, g->name, &b->name);
	if (r == -ENOENT)
		return 0;
	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (g->classes[class])
			r = browse_first_of_class(b, &p, g, class, out);
	return r;
}

/* Prints a name by a sample key: any key of the class would print the same entry. 1: the entry is in *out;
 * 0: the name prints no entry; -errno. */
int browse_print_name(struct browse *b, const struct listing_part *part, unsigned class,
	const char *name, const char *only, struct browse_entry *out)
{
	struct browse_print p = {.b = b, .part = part, .only = only, .each = browse_take_first, .ctx = out};
	struct key k;

	p.k = &k;
	return key_sample(class, name, &k) == 0 ? browse_print_key(&p) : 0;
}

static int tier_has_class(struct browse *b, const struct listing_part *part, unsigned class,
	const char *tier, const char *only, struct browse_entry *out)
{
	struct index_row row = {.id = 0};
	int r = 1;

	while (r > 0) {
		r = index_view_names(b->v, class, tier, NULL, row.id, &row, 1);
		if (r <= 0)
			break;
		r = browse_print_name(b, part, class, row.text, only, out);
		free(row.text);
		if (r != 0)
			return r;
		r = 1;
	}
	return r;
}

/* Looks for an entry of the part that a name of the tier prints. 1: the entry is in *out; 0: no name prints one;
 * -errno. */
int browse_tier_has(struct browse *b, const struct listing_part *part, const char *tier,
	const char *only, struct browse_entry *out)
{
	int r = 0;

	for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++)
		if (part->range.classes[class])
			r = tier_has_class(b, part, class, tier, only, out);
	return r;
}

/* Whether the part has an entry of this name. 1: yes; 0: no; -errno. */
int browse_part_has(struct browse *b, const struct listing_part *part, const char *name)
{
	unsigned row = listing_first_row(part);
	int r = 0;

	for (; r == 0 && row < LISTING_ROWS; row++) {
		struct listing_range g;
		struct browse_entry e;

		if (!part->rows[row])
			continue;
		if (!listing_row_of(b->l, part, row, name, &g)) {
			if (part->what != LISTING_IDS)
				break;
			continue;
		}
		r = part->what == LISTING_TIERS ? browse_tier_has(b, part, g.tier, name, &e)
						: browse_first_of_range(b, part, &g, name, &e);
		if (part->what != LISTING_IDS)
			break;
	}
	return r;
}

static uint64_t offset_of(const struct browse *b, uint64_t place)
{
	return place << BROWSE_PART_BITS | (b->nth_part + 1);
}

bool browse_is_full(const struct browse *b)
{
	return b->n == b->room;
}

/* Adds an entry, unless an earlier part has an entry of that name. 0, -errno. */
int browse_add(struct browse *b, const struct browse_entry *e, uint64_t place)
{
	struct index_name name = b->name;
	bool named = b->named;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < b->nth_part; i++)
		r = browse_part_has(b, &b->l->parts[i], e->name);
	b->name = name;
	b->named = named;
	if (r != 0)
		return MIN(r, 0);
	b->out[b->n] = *e;
	b->out[b->n++].offset = offset_of(b, place);
	return 0;
}

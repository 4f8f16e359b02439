/* Listings: the part with a single entry, and the part with an entry for each value of some digits of the
 * ids. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

int browse_fill_one(struct browse *b, uint64_t after)
{
	struct browse_entry e;
	int r = after ? 0 : browse_first_of_range(b, b->part, &b->part->range, NULL, &e);

	return r > 0 ? browse_add(b, &e, 1) : r;
}

/* Writes the common beginning of the range's prefixes, and then `value` in `width` digits. */
static void prefix_with(const struct listing_range *g, size_t width, uint64_t value,
	char out[static KEY_ID_MAX])
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%0*llx", (int)width, (unsigned long long)value);
	snprintf(out, KEY_ID_MAX, "%.*s%s", (int)(KEY_ID_MAX - sizeof(digits)), g->prefix, digits);
}

/* Moves *value forward to the next value that the id prefix of some key has, which may be *value itself.
 * UINT64_MAX: there is no such value. */
static int next_value(struct browse *b, const struct listing_range *g, size_t digits,
	uint64_t *value)
{
	size_t had = strlen(g->prefix);
	char from[KEY_ID_MAX], end[KEY_ID_MAX + 1], least[KEY_ID_MAX] = "";

	prefix_with(g, digits - had, *value, from);
	browse_range_end(g, end);
	for (unsigned class = 0; class < KEY_CLASSES; class++) {
		struct index_row row;
		int r = !g->classes[class] ? 0
			: index_view_ids(b->v, class, b->named ? &b->name : NULL, from, 0, end, &row,
				  1);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (strlen(row.place) >= digits && (!least[0] || strcmp(row.place, least) < 0))
			snprintf(least, sizeof(least), "%.*s", KEY_ID_MAX - 1, row.place);
		free(row.text);
		free(row.key);
	}
	*value = UINT64_MAX;
	if (least[0]) {
		least[digits] = '\0';
		*value = strtoull(least + had, NULL, 16);
	}
	return 0;
}

int browse_fill_digits(struct browse *b, uint64_t after)
{
	struct listing_range g = b->part->range;
	size_t width = b->part->digits - strlen(g.prefix);
	uint64_t value = after, past = 1ull << 4 * width;
	int r = 0;

	b->named = g.name[0];
	if (b->named)
		r = index_view_name(b->v, g.name, &b->name);
	for (; r == 0 && value < past && !browse_is_full(b); value++) {
		struct browse_entry e;

		b->named = g.name[0];
		r = next_value(b, &b->part->range, b->part->digits, &value);
		if (r < 0 || value >= past)
			break;
		prefix_with(&b->part->range, width, value, g.prefix);
		r = browse_first_of_range(b, b->part, &g, NULL, &e);
		r = r > 0 ? browse_add(b, &e, value + 1) : r;
	}
	return r == -ENOENT ? 0 : r;
}

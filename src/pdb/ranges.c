/* Sorts ranges of addresses, and finds those that overlap a given range of a section. The sorted ranges can
 * overlap each other. Because a broken file can have many ranges at one address, a search does not visit all of
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "pdb/module-private.h"

#include <stdlib.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct pdb_range *x = a, *y = b;

	return COMPARE(x->section, y->section) ?: COMPARE(x->from, y->from) ?: COMPARE(x->which, y->which);
}

/* The ranges are a binary tree: the root of [a, b) is the range in the middle. */
static uint64_t set_reach(struct pdb_range *all, size_t a, size_t b)
{
	size_t mid = a + (b - a) / 2;
	uint64_t left, right;

	if (a >= b)
		return 0;
	left = set_reach(all, a, mid);
	right = set_reach(all, mid + 1, b);
	all[mid].reach = MAX(all[mid].to, MAX(left, right));
	return all[mid].reach;
}

void pdb_ranges_sort(struct pdb_range *all, size_t n)
{
	sort_array(all, n, sizeof(*all), compare_ranges);
	set_reach(all, 0, n);
}

size_t pdb_ranges_end(const struct pdb_range *all, size_t n, unsigned section, uint64_t to)
{
	return search_first(i, 0, n,
		all[i].section < section || (all[i].section == section && all[i].from < to));
}

/* The last range of the tree [a, b) that is in [low, high) of the list, and extends past `from`. SIZE_MAX: there is
 * no such range. */
static size_t last_past(const struct pdb_range *all, size_t a, size_t b, size_t low, size_t high, uint64_t from)
{
	size_t mid = a + (b - a) / 2, found;

	if (a >= b || b <= low || a >= high || all[mid].reach <= from)
		return SIZE_MAX;
	found = last_past(all, mid + 1, b, low, high, from);
	if (found != SIZE_MAX)
		return found;
	if (mid >= low && mid < high && all[mid].to > from)
		return mid;
	return last_past(all, a, mid, low, high, from);
}

bool pdb_ranges_back(const struct pdb_range *all, size_t n, size_t *i, unsigned section, uint64_t from)
{
	size_t found = last_past(all, 0, n, pdb_ranges_end(all, n, section, 0), *i, from);

	if (found == SIZE_MAX)
		return false;
	*i = found;
	return true;
}

/* Sorts ranges of addresses, and finds those that overlap a given range of a section. The sorted ranges can
 * overlap each other. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pdb/module-private.h"

#include <stdlib.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct pdb_range *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->which > y->which) - (x->which < y->which);
}

void pdb_ranges_sort(struct pdb_range *all, size_t n)
{
	bool sorted = true;

	for (size_t i = 1; sorted && i < n; i++)
		sorted = compare_ranges(&all[i - 1], &all[i]) < 0;
	if (!sorted)
		qsort(all, n, sizeof(*all), compare_ranges);
	for (size_t i = 0; i < n; i++) {
		bool same = i && all[i].section == all[i - 1].section;

		all[i].reach = same ? MAX(all[i].to, all[i - 1].reach) : all[i].to;
	}
}

size_t pdb_ranges_end(const struct pdb_range *all, size_t n, unsigned section, uint64_t to)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (all[mid].section < section || (all[mid].section == section && all[mid].from < to))
			from = mid + 1;
		else
			n = mid;
	}
	return from;
}

bool pdb_ranges_back(const struct pdb_range *all, size_t *i, unsigned section, uint64_t from)
{
	while (*i && all[*i - 1].section == section && all[*i - 1].reach > from) {
		--*i;
		if (all[*i].to > from)
			return true;
	}
	return false;
}

/* Arrays: grow by half of their size each time, and are sorted. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"

#include <stdint.h>

int grow(void *array, size_t *room, size_t n, size_t each)
{
	void **p = array, *more;
	size_t want = *room ? *room + *room / 2 : 64;

	if (n < *room)
		return 0;
	if (want > SIZE_MAX / each)
		return -ENOMEM;
	more = realloc(*p, want * each);
	if (!more)
		return -ENOMEM;
	*p = more;
	*room = want;
	return 0;
}

void sort_array(void *array, size_t n, size_t each, int (*compare)(const void *a, const void *b))
{
	const char *p = array;
	size_t i = 1;

	for (; i < n && compare(p + (i - 1) * each, p + i * each) <= 0;)
		i++;
	if (i < n)
		qsort(array, n, each, compare);
}

int compare_u32(const void *a, const void *b)
{
	return COMPARE(*(const uint32_t *)a, *(const uint32_t *)b);
}

int compare_u64(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

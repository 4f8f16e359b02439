/* Arrays: growing and sorting. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <errno.h>
#include <stddef.h>

/* Makes room for one more element in the array at `*array`, which has `*room` elements of `each` bytes,
 * `n` of them in use. `array` points to the array's pointer, which may be NULL. 0; -ENOMEM: the array is
 * unchanged. */
int grow(void *array, size_t *room, size_t n, size_t each);
/* Appends an element to an array with `n` elements and the given room. 0; -ENOMEM. */
#define APPEND(array, room, n, ...)                                                                            \
	((n) < (room) || grow(&(array), &(room), (n), sizeof(*(array))) == 0                                   \
			? ((array)[(n)++] = (__VA_ARGS__), 0)                                                  \
			: -ENOMEM)

/* As qsort(), but faster for an array that is sorted already. `array` may be NULL if n is 0. */
void sort_array(void *array, size_t n, size_t each, int (*compare)(const void *a, const void *b));
int compare_u32(const void *a, const void *b);
int compare_u64(const void *a, const void *b);
/* For functions that compare(): less than 0, 0, or more. `?:` between two of them adds a lesser criterion. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Arrays that grow by half. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>

/* Makes room for one more element in the array at `*array`, which has `*room` elements of `each` bytes,
 * `n` of them in use. `array` points to the array's pointer, which may be NULL. 0; -ENOMEM: the array is
 * unchanged. */
int grow(void *array, size_t *room, size_t n, size_t each);

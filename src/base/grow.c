/* Arrays that grow, by half of their size each time. */
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

/* Numbers of one, two or four bytes, as .NET's metadata (ECMA-335, II.23.2) and CodeView's annotations have
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

#include <stdbool.h>

/* Takes a number from the front of `s`. False: the first byte begins no number, or the number is cut short. */
static inline bool take_compressed(struct span *s, uint32_t *out)
{
	const uint8_t *p = s->p;
	size_t n;

	if (!s->n)
		return false;
	n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 2 : p[0] < 0xe0 ? 4 : 0;
	if (!n || s->n < n)
		return false;
	*out = n == 1	? p[0]
	       : n == 2 ? (uint32_t)(p[0] & 0x3f) << 8 | p[1]
			: (uint32_t)(p[0] & 0x1f) << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	s->p += n;
	s->n -= n;
	return true;
}

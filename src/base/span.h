/* Bytes in memory that another part of the program owns. Parsers read them through span_at(), which checks
 * bounds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const uint8_t *p;
	size_t n;
};

/* The `len` bytes at `off`, or NULL when the span does not hold them all. */
static inline const void *span_at(struct span s, size_t off, size_t len)
{
	return off <= s.n && len <= s.n - off ? s.p + off : NULL;
}

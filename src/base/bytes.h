/* Reads and checks numbers in encoded bytes, for the readers and writers of formats. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

#include <byteswap.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HOST_BIG (__BYTE_ORDER == __BIG_ENDIAN)

static inline uint16_t load16(const uint8_t *p, bool swap)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? bswap_16(v) : v;
}

static inline uint32_t load32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? bswap_32(v) : v;
}

static inline uint64_t load64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? bswap_64(v) : v;
}

/* Reads a number of `n` bytes, at most 8. */
static inline uint64_t load_number(const uint8_t *p, unsigned n, bool big)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[big ? i : n - 1 - i];
	return v;
}

/* Reads a LEB128 number at *p, and moves *p past it. False: it is cut short, or has more than 64 bits.
 * Redundant padding is allowed. */
static inline bool take_uleb(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
	const uint8_t *at = *p;
	uint64_t v = 0;

	if (at < end && !(*at & 0x80)) {
		*out = *at;
		*p = at + 1;
		return true;
	}
	if (end - at >= 2 && !(at[1] & 0x80)) {
		*out = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
		*p = at + 2;
		return true;
	}
	for (unsigned shift = 0; at < end; shift += 7) {
		uint8_t c = *at++;

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if ((shift >= 64 && (c & 0x7f)) || (shift == 63 && (c & 0x7e)))
			return false;
		if (c & 0x80)
			continue;
		*out = v;
		*p = at;
		return true;
	}
	return false;
}

/* Takes a LEB128 length and so many bytes after it, and moves *p past them. False: they end beyond `end`. */
static inline bool take_counted(const uint8_t **p, const uint8_t *end, struct span *out)
{
	uint64_t n;

	if (!take_uleb(p, end, &n) || n > (size_t)(end - *p))
		return false;
	*out = (struct span){*p, (size_t)n};
	*p += n;
	return true;
}

static inline bool take_sleb(const uint8_t **p, const uint8_t *end, int64_t *out)
{
	const uint8_t *at = *p;
	uint64_t v = 0;

	for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
		uint8_t c = *at++;

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if (c & 0x80)
			continue;
		if (shift < 57 && (c & 0x40))
			v |= UINT64_MAX << (shift + 7);
		*out = (int64_t)v;
		*p = at;
		return true;
	}
	return false;
}

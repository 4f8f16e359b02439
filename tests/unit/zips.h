/* Builds zip archives in memory, for tests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "base/zip.h"
#include "unit.h"

#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

struct image {
	uint8_t p[16384];
	size_t n, entries_n;
	uint8_t entries[4096];
	unsigned count;
	size_t counted_from; /* offsets count from here */
};

static inline void put_in(uint8_t *p, size_t *n, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[(*n)++] = (uint8_t)(value >> 8 * i);
}

static inline void put(struct image *m, uint64_t value, unsigned bytes)
{
	put_in(m->p, &m->n, value, bytes);
}

static inline void entry(struct image *m, uint64_t value, unsigned bytes)
{
	put_in(m->entries, &m->entries_n, value, bytes);
}

static inline size_t deflated(const char *text, size_t n, uint8_t *out, size_t room)
{
	z_stream z = {.next_in = (const uint8_t *)text, .avail_in = (unsigned)n, .next_out = out,
		.avail_out = (unsigned)room};

	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

/* `wide`: the sizes and the place stand in an extra field of 64-bit numbers. `behind`: in front of
 * the bytes stand zeros in their place, as where they are not known yet. */
static inline void member_as(struct image *m, const char *name, const char *text, unsigned method,
	bool wide, bool behind)
{
	uint8_t packed[4096];
	size_t n = strlen(text), packed_n = n, at = m->n - m->counted_from, name_n = strlen(name);
	uint32_t crc = (uint32_t)crc32(0, (const uint8_t *)text, (unsigned)n);

	if (method == 8)
		packed_n = deflated(text, n, packed, sizeof(packed));
	else
		memcpy(packed, text, n);
	put(m, 0x04034b50, 4);
	put(m, 20, 2);
	put(m, behind ? 8 : 0, 2);
	put(m, method, 2);
	put(m, 0, 4);
	put(m, behind ? 0 : crc, 4);
	put(m, behind ? 0 : packed_n, 4);
	put(m, behind ? 0 : n, 4);
	put(m, name_n, 2);
	put(m, 4, 2);
	memcpy(m->p + m->n, name, name_n);
	m->n += name_n;
	put(m, 0, 4); /* an extra field that the directory does not have */
	memcpy(m->p + m->n, packed, packed_n);
	m->n += packed_n;
	if (behind) {
		put(m, 0x08074b50, 4);
		put(m, crc, 4);
		put(m, packed_n, 4);
		put(m, n, 4);
	}
	entry(m, 0x02014b50, 4);
	entry(m, 0, 4);
	entry(m, behind ? 8 : 0, 2);
	entry(m, method, 2);
	entry(m, 0, 4);
	entry(m, crc, 4);
	entry(m, wide ? UINT32_MAX : packed_n, 4);
	entry(m, wide ? UINT32_MAX : n, 4);
	entry(m, name_n, 2);
	entry(m, wide ? 28 : 0, 2);
	m->entries_n += 2 + 2 + 2 + 4;
	entry(m, wide ? UINT32_MAX : at, 4);
	memcpy(m->entries + m->entries_n, name, name_n);
	m->entries_n += name_n;
	if (wide) {
		entry(m, 1, 2);
		entry(m, 24, 2);
		entry(m, n, 8);
		entry(m, packed_n, 8);
		entry(m, at, 8);
	}
	m->count++;
}

static inline void member(struct image *m, const char *name, const char *text, unsigned method, bool wide)
{
	member_as(m, name, text, method, wide, false);
}

static inline void end_with(struct image *m, bool wide, const char *comment)
{
	size_t dir = m->n - m->counted_from;

	memcpy(m->p + m->n, m->entries, m->entries_n);
	m->n += m->entries_n;
	if (wide) {
		put(m, 0x06064b50, 4);
		put(m, 44, 8);
		put(m, 0, 8);
		put(m, 0, 4);
		put(m, m->count, 8);
		put(m, m->count, 8);
		put(m, m->entries_n, 8);
		put(m, dir, 8);
		put(m, 0x07064b50, 4);
		put(m, 0, 4);
		put(m, dir + m->entries_n, 8);
		put(m, 1, 4);
	}
	put(m, 0x06054b50, 4);
	put(m, 0, 4);
	put(m, wide ? 0xffff : m->count, 2);
	put(m, wide ? 0xffff : m->count, 2);
	put(m, wide ? UINT32_MAX : m->entries_n, 4);
	put(m, wide ? UINT32_MAX : dir, 4);
	put(m, strlen(comment), 2);
	memcpy(m->p + m->n, comment, strlen(comment));
	m->n += strlen(comment);
}

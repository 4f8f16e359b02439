/* Makes packed files in memory, for tests of unpacking. Each pack_X() appends to `out`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/util.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static inline void put(struct buf *b, const void *p, size_t n)
{
	ck_assert_int_eq(n ? buf_add(b, p, n) : 0, 0);
}

/* A number of n bytes, the low one first. */
static inline void put_number(struct buf *b, uint64_t value, unsigned n)
{
	for (; n; n--, value >>= 8)
		put(b, &(uint8_t){(uint8_t)value}, 1);
}

/* What neither repeats nor is all noise. */
static inline void fill_mixed(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(i % 5 < 3 ? i >> 6 : seed >> 24);
	}
}

/* bits: as deflateInit2() has it: -15 raw, 15 zlib, 31 gzip. */
static inline void pack_deflate(struct buf *out, const void *p, size_t n, int bits)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)p, .avail_in = (uInt)n};
	uint8_t room[4096];
	int r;

	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		r = deflate(&z, Z_FINISH);
		put(out, room, sizeof(room) - z.avail_out);
	} while (r == Z_OK);
	ck_assert_int_eq(r, Z_STREAM_END);
	deflateEnd(&z);
}

static inline void pack_gzip(struct buf *out, const void *p, size_t n)
{
	pack_deflate(out, p, n, 31);
}

static inline void pack_zlib(struct buf *out, const void *p, size_t n)
{
	pack_deflate(out, p, n, 15);
}

static inline void pack_zstd(struct buf *out, const void *p, size_t n)
{
	size_t room = ZSTD_compressBound(n), made;
	_cleanup_free_ void *to = malloc(room);
	ZSTD_CCtx *z = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	made = ZSTD_compress2(z, to, room, p, n);
	ck_assert(!ZSTD_isError(made));
	ZSTD_freeCCtx(z);
	put(out, to, made);
}

/* ---- zip ---------------------------------------------------------------------------- */

struct zip_lie {
	unsigned members; /* 1 when 0 */
	unsigned count;	  /* that the end tells; `members` when 0 */
	bool stored, encrypted;
	unsigned method; /* instead of the true one */
	uint32_t size;	 /* the same */
};

static inline void zip_fields(
	struct buf *out, const struct zip_lie *lie, uint32_t crc, size_t packed, size_t size)
{
	put_number(out, lie->encrypted, 2);
	put_number(out, lie->method ? lie->method : lie->stored ? 0 : 8, 2);
	put_number(out, 0, 4); /* time */
	put_number(out, crc, 4);
	put_number(out, packed, 4);
	put_number(out, lie->size ? lie->size : size, 4);
	put_number(out, 1, 2); /* the name's length */
	put_number(out, 0, 2);
}

static inline void pack_zip_lie(struct buf *out, const void *p, size_t n, const struct zip_lie *lie)
{
	_cleanup_buf_ struct buf packed = BUF_UP_TO(64 << 20), dir = BUF_UP_TO(64 << 10);
	uint32_t crc = (uint32_t)crc32_z(0, p, n);
	unsigned members = lie->members ? lie->members : 1;

	if (lie->stored)
		put(&packed, p, n);
	else
		pack_deflate(&packed, p, n, -15);
	for (unsigned i = 0; i < members; i++) {
		put(&dir, "PK\1\2\24\0\24", 7);
		put_number(&dir, 0, 1);
		zip_fields(&dir, lie, crc, packed.n, n);
		put_number(&dir, 0, 10);
		put_number(&dir, out->n, 4);
		put(&dir, "x", 1);
		put(out, "PK\3\4\24", 5);
		put_number(out, 0, 1);
		zip_fields(out, lie, crc, packed.n, n);
		put(out, "x", 1);
		put(out, packed.p, packed.n);
	}
	size_t at = out->n;

	put(out, dir.p, dir.n);
	put(out, "PK\5\6", 4);
	put_number(out, 0, 4);
	put_number(out, lie->count ? lie->count : members, 2);
	put_number(out, lie->count ? lie->count : members, 2);
	put_number(out, dir.n, 4);
	put_number(out, at, 4);
	put_number(out, 0, 2);
}

static inline void pack_zip(struct buf *out, const void *p, size_t n)
{
	pack_zip_lie(out, p, n, &(struct zip_lie){0});
}

static inline void pack_zip_stored(struct buf *out, const void *p, size_t n)
{
	pack_zip_lie(out, p, n, &(struct zip_lie){.stored = true});
}

/* ---- cabinets ----------------------------------------------------------------------- */

#define CAB_BLOCK 32768

enum cab_method { CAB_STORED = 0, CAB_MSZIP = 1, CAB_LZX = 0x1503 };

struct cab_lie {
	unsigned files; /* 1 when 0 */
	unsigned flags;
	uint32_t length, offset; /* of the file */
};

static inline uint32_t cab_sum(const uint8_t *p, size_t n, uint32_t sum)
{
	uint32_t last = 0;

	for (; n >= 4; p += 4, n -= 4)
		sum ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		       (uint32_t)p[3] << 24;
	for (; n; n--)
		last = last << 8 | *p++;
	return sum ^ last;
}

static inline void cab_block(struct buf *out, const struct buf *packed, size_t n)
{
	_cleanup_buf_ struct buf sizes = BUF_UP_TO(4);

	put_number(&sizes, packed->n, 2);
	put_number(&sizes, n, 2);
	put_number(out, cab_sum((uint8_t *)sizes.p, 4, cab_sum((uint8_t *)packed->p, packed->n, 0)),
		4);
	put(out, sizes.p, 4);
	put(out, packed->p, packed->n);
}

/* Of LZX, what is easy to write: blocks that are not packed, each behind a head of its own. A
 * number of 16 bits goes low byte first, and bits go from the high one. */
static inline void lzx_block(struct buf *out, const uint8_t *p, size_t n, bool first)
{
	uint32_t head = first ? (uint32_t)(3u << 28 | n << 4) : (uint32_t)(3u << 29 | n << 5);

	put_number(out, head >> 16, 2);
	put_number(out, head & 0xffff, 2);
	for (unsigned i = 0; i < 3; i++)
		put_number(out, 1, 4); /* offsets that matches would repeat */
	put(out, p, n);
	if (n & 1)
		put(out, "", 1);
}

static inline void cab_data(struct buf *out, const uint8_t *p, size_t n, enum cab_method m)
{
	for (size_t at = 0; at < n; at += CAB_BLOCK) {
		_cleanup_buf_ struct buf packed = BUF_UP_TO(128 << 10);
		size_t part = MIN(CAB_BLOCK, n - at);

		if (m == CAB_STORED)
			put(&packed, p + at, part);
		if (m == CAB_MSZIP) {
			put(&packed, "CK", 2);
			pack_deflate(&packed, p + at, part, -15);
		}
		if (m == CAB_LZX)
			lzx_block(&packed, p + at, part, at == 0);
		cab_block(out, &packed, part);
	}
}

static inline void pack_cab_lie(
	struct buf *out, const void *p, size_t n, enum cab_method m, const struct cab_lie *lie)
{
	_cleanup_buf_ struct buf data = BUF_UP_TO(64 << 20);
	unsigned files = lie->files ? lie->files : 1;
	unsigned set = lie->flags ? 4 : 0; /* "n", "d": the names of the other cabinet and disk */
	size_t head = 36 + set + 8, entry = 16 + 4;

	cab_data(&data, p, n, m);
	put(out, "MSCF", 4);
	put_number(out, 0, 4);
	put_number(out, head + files * entry + data.n, 4);
	put_number(out, 0, 4);
	put_number(out, head, 4);
	put_number(out, 0, 4);
	put_number(out, 0x0103, 2);
	put_number(out, 1, 2); /* folders */
	put_number(out, files, 2);
	put_number(out, lie->flags, 2);
	put_number(out, 0, 4);
	if (set)
		put(out, "n\0d", 4);
	put_number(out, head + files * entry, 4);
	put_number(out, (n + CAB_BLOCK - 1) / CAB_BLOCK, 2);
	put_number(out, m, 2);
	for (unsigned i = 0; i < files; i++) {
		put_number(out, lie->length ? lie->length : n, 4);
		put_number(out, lie->offset, 4);
		put_number(out, 0, 8);
		put(out, "a\\b", 4);
	}
	put(out, data.p, data.n);
}

static inline void pack_cab(struct buf *out, const void *p, size_t n)
{
	pack_cab_lie(out, p, n, CAB_STORED, &(struct cab_lie){0});
}

static inline void pack_cab_mszip(struct buf *out, const void *p, size_t n)
{
	pack_cab_lie(out, p, n, CAB_MSZIP, &(struct cab_lie){0});
}

static inline void pack_cab_lzx(struct buf *out, const void *p, size_t n)
{
	pack_cab_lie(out, p, n, CAB_LZX, &(struct cab_lie){0});
}

/* Builds little-endian files in memory, for tests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "objects.h"

struct image {
	size_t n;
	uint8_t p[1 << 22];
};

static struct image image; /* one test at a time, each in its own process */

static inline void put_at(size_t at, uint64_t value, unsigned width)
{
	ck_assert_uint_le(at + width, sizeof(image.p));
	for (unsigned i = 0; i < width; i++)
		image.p[at + i] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
	image.n = MAX(image.n, at + width);
}

static inline void put_bytes(size_t at, const void *p, size_t n)
{
	ck_assert_uint_le(at + n, sizeof(image.p));
	memcpy(image.p + at, p, n);
	image.n = MAX(image.n, at + n);
}

static inline struct obj_slice must(void)
{
	return object_must(image.p, image.n, 0);
}

static inline void broken(const char *words)
{
	object_broken(image.p, image.n, words);
}

static inline int check(enum filetype t, const char *id, struct err *e)
{
	struct obj_slice s;

	return object_check(image.p, image.n, t, id, &s, e);
}

static inline void has_debug_id(const char *text)
{
	struct obj_slice s = must();

	object_debug_id(&s, text);
}

/* A truncated file of known length is broken. For a growing file the reader waits until the missing bytes
 * have arrived. */
static inline void every_cut(size_t step)
{
	struct obj_slice s;
	struct err e;

	for (size_t have = 0; have < image.n; have += step) {
		ck_assert_int_lt(object_identify(image.p, have, 0, &s, &e), 0);
		ck_assert_int_eq(object_part(image.p, have, VIEW_UNKNOWN, NULL, 0, &s, &e), -EAGAIN);
	}
	ck_assert_int_eq(object_part(image.p, image.n, VIEW_UNKNOWN, NULL, 0, &s, &e), 0);
}

/* Each field as large as it gets, nothing, and between: an answer or a reason. */
static inline void every_lie(size_t from, size_t to)
{
	static const uint64_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};

	for (size_t at = from; at + 4 <= to; at += 2) {
		uint8_t saved[4];

		memcpy(saved, image.p + at, 4);
		for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
			struct obj_slice s;
			struct err e;
			int r;

			put_at(at, values[i], i & 1 ? 2 : 4);
			r = object_identify(image.p, image.n, 0, &s, &e);
			ck_assert_msg(r == 0 || r == -EBADMSG, "%zu: %d", at, r);
			memcpy(image.p + at, saved, 4);
		}
	}
}

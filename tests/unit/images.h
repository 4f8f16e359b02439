/* Little-endian files built in memory, and what they are asked. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "obj/obj.h"
#include "base/util.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

struct image {
	size_t n;
	uint8_t p[1 << 20];
};

static struct image image; /* one test at a time, each in its own process */

static inline void put_at(size_t at, uint64_t value, unsigned width)
{
	ck_assert_uint_le(at + width, sizeof(image.p));
	for (unsigned i = 0; i < width; i++)
		image.p[at + i] = (uint8_t)(value >> 8 * i);
	image.n = MAX(image.n, at + width);
}

static inline void put_bytes(size_t at, const void *p, size_t n)
{
	ck_assert_uint_le(at + n, sizeof(image.p));
	memcpy(image.p + at, p, n);
	image.n = MAX(image.n, at + n);
}

static inline int identify(struct obj_slice *s, struct err *e)
{
	struct view v = view_of_mem(image.p, image.n);

	memset(s, 0, sizeof(*s));
	memset(e, 0, sizeof(*e));
	return obj_identify(&v, 0, s, e);
}

static inline struct obj_slice must(void)
{
	struct obj_slice s;
	struct err e;
	int r = identify(&s, &e);

	ck_assert_msg(r == 0, "%d: %s", r, e.text);
	return s;
}

/* It is refused, with these words in the reason. */
static inline void broken(const char *words)
{
	struct obj_slice s;
	struct err e;
	int r = identify(&s, &e);

	ck_assert_int_eq(r, -EBADMSG);
	ck_assert_msg(strstr(e.text, words), "\"%s\" does not say \"%s\"", e.text, words);
}

static inline int check(enum filetype t, const char *id, struct err *e)
{
	struct view v = view_of_mem(image.p, image.n);
	struct key k = {.type = t};
	struct obj_slice s;

	memset(e, 0, sizeof(*e));
	snprintf(k.id, sizeof(k.id), "%s", id);
	return obj_check(&v, &k, &s, e);
}

static inline void is_debug_id(const struct obj_slice *s, const char *text)
{
	char room[DEBUG_ID_TEXT];

	ck_assert_str_eq(debug_id_text(&s->module.debug_id, room), text);
}

/* The first bytes alone, in memory that ends there. */
static inline int part(size_t have, uint64_t size, struct obj_slice *s, struct view *v)
{
	_cleanup_free_ uint8_t *copy = malloc(have + 1);
	struct err e = {0};
	int r;

	memcpy(copy, image.p, have);
	*v = view_of_mem(copy, have);
	v->size = size;
	r = obj_identify(v, 0, s, &e);
	v->mem = NULL;
	return r;
}

/* Whatever is missing, it is waited for, or the answer is that of the whole; and a file that is
 * cut there is broken. */
static inline void every_part(size_t step)
{
	struct obj_slice whole = must(), s;
	struct view v;

	for (size_t have = 0; have < image.n; have += step) {
		for (unsigned i = 0; i < 2; i++) {
			int r = part(have, i ? image.n : VIEW_UNKNOWN, &s, &v);

			if (r == -EAGAIN)
				ck_assert_uint_gt(v.want_off + v.want_len, have);
			else
				ck_assert_int_eq(r, 0);
			if (r == 0)
				ck_assert(debug_id_equal(&s.module.debug_id, &whole.module.debug_id));
		}
		ck_assert_int_lt(part(have, have, &s, &v), 0);
	}
}

/* Each field, one after the other, as large as it gets and with its top bit alone: an answer or a
 * reason, and no crash. */
static inline void every_lie(size_t from, size_t to)
{
	static const uint64_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
	struct obj_slice s;
	struct err e;

	for (size_t at = from; at + 4 <= to; at += 2) {
		uint8_t saved[4];

		memcpy(saved, image.p + at, 4);
		for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
			int r;

			put_at(at, values[i], i & 1 ? 2 : 4);
			r = identify(&s, &e);
			ck_assert_msg(r == 0 || r == -EBADMSG || r == -ENOMSG, "%zu: %d", at, r);
			memcpy(image.p + at, saved, 4);
		}
	}
}

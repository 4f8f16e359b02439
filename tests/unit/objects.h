/* Shared code of the tests of file formats: asks obj/ about bytes in memory, and checks the two
 * promises of every format. For a part of a file, the answer is that of the whole file or "bytes
 * are missing"; no value of a field leads out of the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "formats/obj/obj.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* `have` bytes in memory that ends there, of a file of `size`. `k` may be NULL. */
static inline int object_part(const void *p, size_t have, uint64_t size, const struct key *k,
	unsigned index, struct obj_slice *s, struct err *e)
{
	_cleanup_free_ uint8_t *copy = calloc(1, have ? have : 1);
	struct view v = view_of_mem(copy, have);
	int r;

	if (have)
		memcpy(copy, p, have);
	v.size = size;
	memset(e, 0, sizeof(*e));
	r = k ? obj_check(&v, k, s, e) : obj_identify(&v, index, s, e);
	if (r == -EAGAIN)
		ck_assert_msg(v.want_len && v.want_off + v.want_len > have,
			"%zu of %llu bytes, and wants %llu + %llu", have, (unsigned long long)size,
			(unsigned long long)v.want_off, (unsigned long long)v.want_len);
	return r;
}

static inline int object_identify(const void *p, size_t n, unsigned index, struct obj_slice *s,
	struct err *e)
{
	return object_part(p, n, n, NULL, index, s, e);
}

static inline struct obj_slice object_must(const void *p, size_t n, unsigned index)
{
	struct obj_slice s;
	struct err e;
	int r = object_identify(p, n, index, &s, &e);

	ck_assert_msg(r == 0, "%d: %s", r, e.text);
	return s;
}

/* -EBADMSG, and these words. */
static inline void object_broken(const void *p, size_t n, const char *text)
{
	struct obj_slice s;
	struct err e;
	int r = object_identify(p, n, 0, &s, &e);

	ck_assert_msg(r == -EBADMSG && strstr(e.text, text), "%d: %s", r, e.text);
}

static inline int object_check(const void *p, size_t n, enum filetype t, const char *id,
	struct obj_slice *s, struct err *e)
{
	struct key k = {.type = t};

	snprintf(k.id, sizeof(k.id), "%s", id);
	return object_part(p, n, n, &k, 0, s, e);
}

static inline void object_debug_id(const struct obj_slice *s, const char *text)
{
	char room[DEBUG_ID_TEXT];

	ck_assert_str_eq(debug_id_text(&s->module.debug_id, room), text);
}

static inline bool object_serves(const struct obj_slice *s, enum filetype t)
{
	for (unsigned i = 0; i < s->n_types; i++)
		if (s->types[i] == t)
			return true;
	return false;
}

/* Every prefix, of known and of unknown size, answers what the whole answers, or waits. */
static inline void object_prefixes_agree(const uint8_t *p, size_t n, const struct key *k,
	unsigned index)
{
	struct obj_slice whole = {0}, s;
	struct err e;
	int r = object_part(p, n, n, k, index, &whole, &e);

	ck_assert_int_ne(r, -EAGAIN);
	for (size_t have = 0; have <= n; have++) {
		for (unsigned known = 0; known < 2; known++) {
			int part;

			memset(&s, 0, sizeof(s));
			part = object_part(p, have, known ? n : VIEW_UNKNOWN, k, index, &s, &e);
			if (part == -EAGAIN && (have < n || !known))
				continue;
			ck_assert_msg(part == r, "%zu of %zu bytes: %d (%s), not %d", have, n, part,
				e.text, r);
			if (r < 0 || !whole.format)
				continue;
			ck_assert_str_eq(s.module.code_id, whole.module.code_id);
			ck_assert(debug_id_equal(&s.module.debug_id, &whole.module.debug_id));
			ck_assert_int_eq(s.kind, whole.kind);
			ck_assert_int_eq(memcmp(&s.worth, &whole.worth, sizeof(s.worth)), 0);
			ck_assert_int_eq(s.code, whole.code);
		}
	}
}

/* Sets every field of `step` bytes to values that overflow; returns how many broke the file. */
static inline unsigned object_hostile(const uint8_t *p, size_t n, unsigned step)
{
	static const uint8_t fill[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	_cleanup_free_ uint8_t *copy = malloc(n);
	unsigned bad = 0;

	for (size_t at = 0; at + step <= n; at += step) {
		for (unsigned i = 0; i < ARRAY_SIZE(fill) * 2; i++) {
			struct obj_slice s;
			struct err e;

			memcpy(copy, p, n);
			memset(copy + at, fill[i / 2], step);
			if (i & 1) /* so near the top that a small sum wraps */
				copy[at + step - 1] = copy[at] = 0xf0;
			for (unsigned index = 0; index < 4; index++) {
				int r = object_identify(copy, n, index, &s, &e);

				ck_assert_msg(r == 0 || r == -EBADMSG || r == -ENOMSG || r == -ENOENT,
					"%zu: %d", at, r);
				bad += r == -EBADMSG;
			}
		}
	}
	return bad;
}

/* Checks any bytes as a file of some format: whole, in part, and of unknown length. For a part of
 * the file, the answer is that of the whole file, or that bytes are missing. Each read stays
 * within the present bytes. The file is accepted under every key that it claims. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "formats/obj/obj.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

/* The first `have` bytes, in memory that ends there. */
static inline int fuzz_ask(const uint8_t *p, size_t have, uint64_t size, const struct key *k,
	unsigned index, struct obj_slice *s)
{
	_cleanup_free_ uint8_t *copy = calloc(1, have ? have : 1);
	struct view v = view_of_mem(copy, have);
	struct err e = {0};
	int r;

	if (have)
		memcpy(copy, p, have);
	v.size = size;
	memset(s, 0, sizeof(*s));
	r = k ? obj_check(&v, k, s, &e) : obj_identify(&v, index, s, &e);
	if (r == -EAGAIN)
		fuzz_must(v.want_len && v.want_off + v.want_len > have, "waits for what it has");
	else if (r < 0 && r != -ENOENT)
		fuzz_must(e.text[0], "an error without words");
	fuzz_must(r == 0 || r == 1 || r == -EAGAIN || r == -EBADMSG || r == -ENOMSG ||
			(r == -ENOENT && index), "another error");
	if (r >= 0 && s->format && size != VIEW_UNKNOWN)
		fuzz_must(s->off <= size && s->size <= size - s->off, "a slice outside the file");
	return r;
}

static inline bool fuzz_same(const struct obj_slice *a, const struct obj_slice *b)
{
	return a->kind == b->kind && a->code == b->code && memcmp(&a->worth, &b->worth, sizeof(a->worth)) == 0 &&
		a->n_types == b->n_types && strcmp(a->arch, b->arch) == 0 && a->module.object == b->module.object &&
		strcmp(a->module.code_id, b->module.code_id) == 0 &&
		strcmp(a->module.debug_file, b->module.debug_file) == 0 &&
		strcmp(a->module.checksum, b->module.checksum) == 0 &&
		debug_id_equal(&a->module.debug_id, &b->module.debug_id);
}

static inline void fuzz_compare(const uint8_t *p, size_t n, const struct key *k, unsigned index)
{
	struct obj_slice whole, s;
	int r = fuzz_ask(p, n, n, k, index, &whole);
	/* Where headers end, and some places between. */
	size_t cuts[] = {0, 1, 3, 4, 8, 16, 28, 32, 64, n / 4, n / 2, n - n / 4, n ? n - 1 : 0, n};

	fuzz_must(r != -EAGAIN, "a whole file waits");
	for (unsigned i = 0; i < ARRAY_SIZE(cuts) * 2; i++) {
		size_t have = MIN(cuts[i / 2], n);
		int part = fuzz_ask(p, have, i & 1 ? n : VIEW_UNKNOWN, k, index, &s);

		if (part == -EAGAIN)
			continue;
		fuzz_must(part == r, "a part says something else");
		if (r >= 0 && whole.format)
			fuzz_must(fuzz_same(&s, &whole), "a part is something else");
	}
}

/* Under the keys of a slice, and under one that it cannot have. */
static inline void fuzz_keys(const uint8_t *p, size_t n, enum filetype t, const struct obj_slice *s)
{
	struct artifact a = {.type = t, .m = s->module};
	struct key k = {.type = t, .id = "f1c3bcc0279865fe3058404b2831d9e64135386c"};
	struct obj_slice got;
	bool served = false;

	fuzz_compare(p, n, &k, 0);
	if (!a.m.code_file[0]) /* some keys are none without a name */
		snprintf(a.m.code_file, sizeof(a.m.code_file), "x");
	if (key_of(&k, &a) < 0)
		return;
	fuzz_compare(p, n, &k, 0);
	/* The key's own type: a PDB of age ffffffff is asked for as a portable one. */
	for (unsigned i = 0; i < s->n_types; i++)
		served = served || s->types[i] == k.type;
	if (served && fuzz_ask(p, n, n, NULL, 1, &got) == -ENOENT)
		fuzz_must(fuzz_ask(p, n, n, &k, 0, &got) >= 0, "its own key is refused");
}

/* The text of a worth is read back as the same. */
static inline void fuzz_worth(const struct worth *w)
{
	char text[WORTH_TEXT], again[WORTH_TEXT];
	struct worth back;

	fuzz_must(worth_parse(&back, worth_text(w, text)) == 0, "the text of a worth is not read");
	fuzz_must(strcmp(worth_text(&back, again), text) == 0, "the text of a worth is read as another one");
}

static inline void fuzz_object(const uint8_t *p, size_t n, const enum filetype *types, unsigned count)
{
	struct obj_slice s, none = {0};

	for (unsigned i = 0; i < 4; i++) {
		int r = fuzz_ask(p, n, n, NULL, i, &s);

		if (r == -ENOENT)
			break;
		fuzz_compare(p, n, NULL, i);
		if (r == 0)
			fuzz_worth(&s.worth);
		for (unsigned t = 0; t < count; t++)
			fuzz_keys(p, n, types[t], r == 0 ? &s : &none);
		if (r < 0)
			break;
	}
}

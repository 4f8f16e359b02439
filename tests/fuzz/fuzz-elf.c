/* Any bytes as an ELF file: whole, in part, and of unknown length. A part must answer what the
 * whole answers, or that it must wait; and each read stays in what is here. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "obj/obj.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz-elf: %s\n", what);
	abort();
}

/* The first `have` bytes, in memory that ends there. */
static int ask(const uint8_t *p, size_t have, uint64_t size, const struct key *k,
	struct obj_slice *s)
{
	_cleanup_free_ uint8_t *copy = malloc(have ? have : 1);
	struct view v = view_of_mem(copy, have);
	struct err e = {0};
	int r;

	if (have)
		memcpy(copy, p, have);
	v.size = size;
	memset(s, 0, sizeof(*s));
	r = k ? obj_check(&v, k, s, &e) : obj_identify(&v, 0, s, &e);
	if (r == -EAGAIN)
		must(v.want_len && v.want_off + v.want_len > have, "waits for what it has");
	else if (r < 0)
		must(e.text[0], "an error without words");
	must(r == 0 || r == 1 || r == -EAGAIN || r == -EBADMSG || r == -ENOMSG, "another error");
	return r;
}

static void compare(const uint8_t *p, size_t n, const struct key *k)
{
	struct obj_slice whole, s;
	int r = ask(p, n, n, k, &whole);
	/* Where headers end, and some places between. */
	size_t cuts[] = {0, 1, 3, 4, 16, 52, 64, n / 4, n / 2, n - n / 4, n ? n - 1 : 0, n};

	must(r != -EAGAIN, "a whole file waits");
	for (unsigned i = 0; i < ARRAY_SIZE(cuts) * 2; i++) {
		size_t have = MIN(cuts[i / 2], n);
		int part = ask(p, have, i & 1 ? n : VIEW_UNKNOWN, k, &s);

		if (part == -EAGAIN)
			continue;
		must(part == r, "a part says something else");
		if (r >= 0 && whole.format)
			must(strcmp(s.module.code_id, whole.module.code_id) == 0 &&
				s.kind == whole.kind && s.features == whole.features,
				"a part is something else");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const enum filetype types[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG};
	struct obj_slice s;

	compare(p, n, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		struct key k = {.type = types[i], .id = "f1c3bcc0279865fe3058404b2831d9e64135386c"};

		compare(p, n, &k);
		if (ask(p, n, n, NULL, &s) == 0 && s.module.code_id[0]) {
			bool served = false;

			snprintf(k.id, sizeof(k.id), "%s", s.module.code_id);
			for (unsigned t = 0; t < s.n_types; t++)
				served = served || s.types[t] == k.type;
			compare(p, n, &k);
			must((ask(p, n, n, &k, &s) == 1) == served, "its own key is refused");
		}
	}
	return 0;
}

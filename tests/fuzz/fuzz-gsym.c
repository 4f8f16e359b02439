/* Fuzzes the GSYM reader with any bytes as a file of any form. Every answer lies inside of the
 * bytes. A file that the whole check accepts answers every address without an error, prepared or
 * not, and answers the same after it is written anew. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "unit/gsyms.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static void ask(const struct gsym *g, uint64_t addr, bool good, struct buf *out)
{
	struct gsym_hit hit;
	struct err e = {0};
	int r = gsym_lookup(g, addr, &hit, &e);

	must(r == 0 || r == -ENOENT || !good, "an address is broken in a file that is not");
	must(r == 0 || e.text[0], "an error without words");
	gsyms_frames(g, addr, out); /* reads every text */
	if (r == 0 && good) {
		struct buf plain = BUF_UP_TO(1 << 20);

		must(strcmp(gsyms_plain(g, hit.index, addr, &plain), buf_text(out)) == 0,
			"a lookup says something else than the records");
		buf_release(&plain);
	}
}

/* Around each function, and at each of its rows. */
static void ask_all(const struct gsym *g, bool good)
{
	struct buf text = BUF_UP_TO(1 << 20);

	for (uint32_t i = 0; i < g->count && i < 256; i++) {
		struct gsym_func f;
		struct gsym_rows it;
		struct gsym_row row;
		unsigned n = 0;

		ask(g, gsym_addr(g, i), good, &text);
		ask(g, gsym_addr(g, i) - 1, good, &text);
		if (gsym_func_at(g, i, &f, NULL) < 0)
			continue;
		ask(g, f.addr + f.size, good, &text);
		ask(g, f.addr + f.size / 2, good, &text);
		if (gsym_rows_begin(&it, &f) == 0)
			while (n++ < 64 && gsym_rows_next(&it, &row) > 0)
				ask(g, row.addr, good, &text);
	}
	buf_release(&text);
}

/* What was written answers at its own addresses. */
static void has_answers(const struct gsym *h)
{
	struct gsym_hit hit;

	for (uint32_t i = 0; i < h->count && i < 64; i++) {
		struct gsym_func f;

		must(gsym_func_at(h, i, &f, NULL) == 0, "what was written is broken");
		for (uint64_t at = 0; at < f.size && at < 64; at++)
			must(gsym_lookup(h, f.addr + at, &hit, NULL) == 0, "a function is lost");
	}
}

static int rewrite(const struct gsym *g, enum gsym_form form, struct buf *out, struct gsym *h)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct err e = {0};
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = gsym_copy(w, g, &e);
	if (r == 0)
		r = gsyms_write(w, form, g->big, out, &e);
	must(r == 0 || e.text[0], "an error without words");
	if (r < 0)
		return r;
	must(gsym_open(h, (struct span){(const uint8_t *)out->p, out->n}, &e) == 0, e.text);
	must(gsym_check(h, &e) == 0, e.text);
	return 0;
}

static void rewrite_all(const struct gsym *g)
{
	for (unsigned i = 0; i < 2; i++) {
		enum gsym_form form = i ? GSYM_V1 : GSYM_SECT0;
		struct buf first = BUF_UP_TO(64 << 20), again = BUF_UP_TO(64 << 20);
		struct gsym h, k;

		if (rewrite(g, form, &first, &h) == 0) {
			has_answers(&h);
			must(rewrite(&h, form, &again, &k) == 0, "cannot be written again");
			must(first.n == again.n && memcmp(first.p, again.p, first.n) == 0,
				"is another file when it is written again");
		}
		buf_release(&first);
		buf_release(&again);
	}
}

FUZZ_TARGET("gsym", p, n)
{
	struct err e = {0};
	struct gsym g;
	bool good;

	if (gsym_open(&g, (struct span){p, n}, &e) < 0) {
		must(e.text[0], "an error without words");
		return 0;
	}
	good = gsym_check(&g, &e) == 0;
	ask_all(&g, good);
	if (gsym_prepare(&g, &e) == 0) {
		ask_all(&g, good);
		gsym_release(&g);
	} else {
		must(!good, "a good file cannot be prepared");
	}
	if (good)
		rewrite_all(&g);
	return 0;
}

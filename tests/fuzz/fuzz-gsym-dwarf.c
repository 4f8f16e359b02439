/* Fuzzes the conversion of ELF (linked or not), Mach-O, PE and WebAssembly files to GSYM, from debug
 * information and symbols. It terminates, one thread and three give the same file, and that file
 * is whole. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "derive/convert/embed.h"
#include "derive/convert/from-dwarf.h"
#include "derive/convert/make.h"
#include "derive/convert/object.h"
#include "unit/gsyms.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* In an object of its own, and in a copy of the file. */
static void put_in(struct gsym_writer *w, const struct gsym_made *made, struct span file, uint32_t count)
{
	for (unsigned i = 0; i < 2; i++) {
		struct buf b = BUF_UP_TO(256 << 20);
		struct err e = {0};
		struct gsym g;
		int r = i ? gsym_embed(w, made, file, &b, &e) : gsym_write_object(w, made, &b, &e);

		must(r == 0 || e.text[0], "an error without words");
		if (r == 0) {
			must(gsym_open(&g, (struct span){(uint8_t *)b.p, b.n}, &e) == 0, e.text);
			must(gsym_check(&g, &e) == 0, e.text);
			must(g.count == count, "functions are lost in an object");
		}
		buf_release(&b);
	}
}

static int make(const uint8_t *p, size_t n, unsigned threads, struct buf *out)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {.threads = threads};
	struct gsym_made made;
	struct err e = {0};
	struct gsym g;
	int r;

	if (gsym_writer_new(&w) < 0)
		return 0;
	r = gsym_make(w, (struct span){p, n}, &o, &made, &e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, out, NULL, &e);
	must(r == 0 || e.text[0], "an error without words");
	if (r < 0)
		return r;
	must(gsym_open(&g, (struct span){(uint8_t *)out->p, out->n}, &e) == 0, e.text);
	must(gsym_check(&g, &e) == 0, e.text);
	if (threads == 1)
		put_in(w, &made, (struct span){p, n}, g.count);
	return 0;
}

/* The paths of source files have no part that leads up. */
static int take_source(void *ctx, const char *path)
{
	unsigned *left = ctx;

	must(path[0] == '/' && !strstr(path, "/../") && !strstr(path, "//"), "a source that is not a clean path");
	return --*left ? 0 : -ECANCELED;
}

FUZZ_TARGET("gsym-dwarf", p, n)
{
	struct gsym_make_opts none = {0};
	struct err e = {0};
	unsigned left = 100000;
	struct buf one = BUF_UP_TO(256 << 20), three = BUF_UP_TO(256 << 20);
	int r;

	/* Other formats have targets of their own. */
	if (n < 4 || (memcmp(p, "\177ELF", 4) != 0 && memcmp(p, "\317\372\355\376", 4) != 0 &&
			     memcmp(p, "\376\355\372\316", 4) != 0 && memcmp(p, "MZ", 2) != 0 &&
			     memcmp(p, "\0asm", 4) != 0))
		return 0;
	r = dwarf_sources((struct span){p, n}, &none, take_source, &left, &e);
	must(r == 0 || r == -ENOMSG || e.text[0], "an error without words");
	r = make(p, n, 1, &one);
	must(make(p, n, 3, &three) == r, "threads make a difference");
	must(one.n == three.n && !memcmp(buf_text(&one), buf_text(&three), one.n),
		"threads make another file");
	buf_release(&one);
	buf_release(&three);
	return 0;
}

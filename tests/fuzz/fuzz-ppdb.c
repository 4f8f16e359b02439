/* Fuzzes the readers of Portable PDBs, also inside of a program: identity and lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz-obj.h"
#include "derive/convert/from-ppdb.h"
#include "formats/obj/ppdb.h"

static void make_lines(const uint8_t *p, size_t n)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct buf out = BUF_UP_TO(64u << 20);
	struct err e = {0};
	struct gsym g;
	int r;

	if (!ppdb_is((struct span){p, n}) || gsym_writer_new(&w) < 0)
		return;
	r = gsym_from_ppdb(w, (struct span){p, n}, &e);
	fuzz_must(r == 0 || e.text[0], "an error without words");
	if (r == 0 && gsym_write(w, GSYM_V1, false, NULL, &out, NULL, &e) == 0) {
		fuzz_must(gsym_open(&g, (struct span){(uint8_t *)out.p, out.n}, &e) == 0, e.text);
		fuzz_must(gsym_check(&g, &e) == 0, e.text);
	}
	buf_release(&out);
}

static void find_source(const uint8_t *p, size_t n)
{
	_cleanup_free_ char *text = NULL;
	struct err e = {0};
	size_t made;
	int r = ppdb_source((struct span){p, n}, "/C:/EmbeddedSource.cs", 1u << 20, &text, &made, &e);

	fuzz_must(r == 0 || e.text[0], "an error without words");
}

FUZZ_TARGET("ppdb", p, n)
{
	static const enum filetype types[] = {FILETYPE_PORTABLEPDB};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	make_lines(p, n);
	find_source(p, n);
	return 0;
}

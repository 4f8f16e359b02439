/* Fuzzes the PDB readers: any bytes are identified, converted to GSYM and asked for addresses. All
 * of this terminates, the GSYM files are whole, and missing bytes are listed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/make.h"
#include "formats/pdb/msf.h"
#include "fuzz/fuzz-obj.h"
#include "fuzz/fuzz-pdb.h"
#include "unit/gsyms.h"

#include <stdlib.h>

static void convert(struct span file)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {0};
	struct buf out = BUF_UP_TO(256u << 20);
	struct gsym_made made;
	struct err e = {0};
	struct gsym g;
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = gsym_make(w, file, &o, &made, &e);
	fuzz_must(r == 0 || e.text[0], "an error without words");
	if (r == 0 && gsym_write(w, GSYM_V1, false, "", &out, NULL, &e) == 0) {
		fuzz_must(gsym_open(&g, (struct span){(uint8_t *)out.p, out.n}, &e) == 0, e.text);
		fuzz_must(gsym_check(&g, &e) == 0, e.text);
	}
	buf_release(&out);
}

/* With `here` bytes at the front. */
static void ask(struct span file, uint64_t here)
{
	uint32_t addrs[16];

	for (uint32_t i = 0; i < ARRAY_SIZE(addrs); i++)
		addrs[i] = 0x1000 * (1 + i / 8) + i % 8 * 0x35;
	fuzz_pdb_ask(file, here, addrs, ARRAY_SIZE(addrs));
}

FUZZ_TARGET("pdb", p, n)
{
	static const enum filetype types[] = {FILETYPE_PDB};
	struct span file = {p, n};

	fuzz_object(p, n, types, ARRAY_SIZE(types));
	if (!msf_is(p, n))
		return 0;
	convert(file);
	ask(file, n);
	ask(file, n / 2);
	return 0;
}

/* Fuzzes the PDB readers: any bytes are identified, converted to GSYM and asked for addresses. All
 * of this terminates, the GSYM file is whole, and missing bytes are listed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/make.h"
#include "fuzz/fuzz-obj.h"
#include "pdb/find.h"
#include "unit/gsyms.h"

#include <stdlib.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

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
	must(r == 0 || e.text[0], "an error without words");
	if (r == 0 && gsym_write(w, GSYM_V1, false, "", &out, NULL, &e) == 0) {
		must(gsym_open(&g, (struct span){(uint8_t *)out.p, out.n}, &e) == 0, e.text);
		must(gsym_check(&g, &e) == 0, e.text);
	}
	buf_release(&out);
}

static bool has_front(const void *ctx, uint64_t off, uint64_t n)
{
	return off + n <= *(const uint64_t *)ctx;
}

/* With `here` bytes at the front. */
static void ask(struct span file, uint64_t here)
{
	struct view v = view_of_mem(file.p, file.n);
	struct msf_io *io = malloc(sizeof(*io));
	struct pdb_found *found = calloc(1, sizeof(*found));
	struct pdb_namer names;
	struct err e = {0};
	struct pdb p;
	int r;

	if (!io || !found)
		abort();
	v.has = has_front;
	v.ctx = &here;
	msf_io_init(io, &v);
	r = pdb_open(&p, io, &e);
	must(r != -EAGAIN || io->n_lacks, "what is missing is not listed");
	must(r == 0 || r == -EAGAIN || e.text[0], "an error without words");
	pdb_namer_init(&names, &p, io, false);
	for (uint32_t i = 0; r == 0 && i < 8; i++) {
		uint32_t source;

		if (!pdb_source_of(&p, 1, i * 0x35, &source))
			break;
		io->n_lacks = 0;
		must(pdb_find(&p, &names, source, found, &e) != -EAGAIN || io->n_lacks,
			"what a look-up misses is not listed");
		pdb_found_release(found);
	}
	pdb_namer_release(&names);
	pdb_release(&p);
	msf_io_release(io);
	free(io);
	free(found);
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

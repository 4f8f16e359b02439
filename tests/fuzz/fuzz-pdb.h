/* Asks a PDB for addresses, for the fuzzers of PDBs. At first only the front of the file is present; each request for
 * missing bytes moves the end of the front. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"
#include "derive/convert/partial.h"
#include "formats/gsym/gsym.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static inline bool fuzz_has_front(const void *ctx, uint64_t off, uint64_t n)
{
	return off + n <= *(const uint64_t *)ctx;
}

static inline int fuzz_fill_front(void *ctx, const struct msf_lack *lacks, unsigned n)
{
	uint64_t *here = ctx;

	fuzz_must(n, "missing bytes that are not listed");
	for (unsigned i = 0; i < n; i++)
		*here = MAX(*here, lacks[i].off + lacks[i].n);
	return 0;
}

/* Returns how many of the addresses have frames. */
static inline unsigned fuzz_pdb_ask(struct span file, uint64_t here, const uint32_t *addrs, size_t n_addrs)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct view v = view_of_mem(file.p, file.n);
	struct buf out = BUF_UP_TO(64u << 20);
	struct partial_pdb *p;
	struct gsym_hit hit;
	struct err e = {0};
	unsigned n = 0;
	struct gsym g;
	int r;

	v.has = fuzz_has_front;
	v.ctx = &here;
	r = partial_open(&p, &v, false, fuzz_fill_front, &here, &e);
	fuzz_must(r == 0 || e.text[0], "an error without words");
	if (r == 0)
		r = gsym_writer_new(&w);
	if (r == 0)
		r = partial_write(p, w, addrs, n_addrs, &e);
	fuzz_must(r == 0 || e.text[0], "an error of a look-up without words");
	if (r == 0 && gsym_write(w, GSYM_V1, false, "", &out, NULL, &e) == 0) {
		fuzz_must(gsym_open(&g, (struct span){(uint8_t *)out.p, out.n}, &e) == 0, e.text);
		fuzz_must(gsym_check(&g, &e) == 0, e.text);
		for (size_t i = 0; i < n_addrs; i++)
			n += gsym_lookup(&g, addrs[i], &hit, &e) == 0;
	}
	buf_release(&out);
	partial_free(p);
	return n;
}

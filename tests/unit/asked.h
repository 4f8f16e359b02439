/* Compares GSYM of a whole Breakpad file with GSYM of a few addresses of the file: look-ups at these addresses must
 * give the same answers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-breakpad.h"
#include "formats/gsym/gsym.h"
#include "formats/gsym/writer.h"

#include <inttypes.h>
#include <stdlib.h>

/* Converts as for src/symb/. `addrs` NULL: all addresses. 0, -errno. */
static int asked_make(const char *text, size_t n, const uint32_t *addrs, size_t n_addrs, struct buf *out,
	struct gsym *g)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_breakpad_ struct breakpad *b = NULL;
	struct breakpad_counts counts;
	struct err e = {0};
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = breakpad_new(&b, w, true, true);
	if (r == 0 && addrs)
		breakpad_ask(b, addrs, n_addrs);
	if (r == 0)
		r = breakpad_feed(b, text, n, &e);
	if (r == 0)
		r = breakpad_finish(b, &counts, &e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, false, NULL, out, NULL, &e);
	if (r == 0)
		r = gsym_open(g, (struct span){(const uint8_t *)out->p, out->n}, &e);
	g->prepared = r == 0;
	return r;
}

/* All that /symbolicate prints of an address. */
static inline const char *asked_text(const struct gsym *g, uint64_t addr, struct buf *out)
{
	struct gsym_hit *hit = malloc(sizeof(*hit));
	char path[4096];

	buf_clear(out);
	if (!hit || gsym_lookup(g, addr, hit, NULL) < 0)
		buf_adds(out, "-");
	else
		for (unsigned i = 0; i < hit->n; i++) {
			const struct gsym_frame *f = &hit->frame[i];
			int64_t more;
			const char *name = eliot_name(f->name, &more);

			buf_addf(out, "%s|%s|%u|%" PRIx64 "\n", name,
				eliot_file(f->dir, f->base) ? gsym_path_text(f->dir, f->base, path, sizeof(path))
				: "", f->line, i + 1 == hit->n ? addr - hit->start + (uint64_t)more : 0);
		}
	free(hit);
	return buf_text(out);
}

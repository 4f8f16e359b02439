/* Chooses the reader of a file's unwind tables. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames/frames.h"
#include "base/util.h"
#include "frames/private.h"
#include "image/image.h"
#include "pdb/msf.h"

static int write_tables(const struct tables *t, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e)
{
	struct unwind_text_opts o = {.arch = t->arch[ROWS_EH], .big = t->rows.big, .base = t->base,
		.ranges = t->ranges, .n_ranges = t->n_ranges, .pass = pass, .ctx = ctx};
	struct unwind_text *text = NULL;
	int r;

	if (!o.arch)
		return err_set(e, -ENOTSUP, "is for a processor whose registers Breakpad does not name");
	r = unwind_text_new(&text, &o);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	r = cfi_write(t, text, e);
	if (r == 0) {
		r = unwind_text_flush(text);
		if (r < 0)
			err_set(e, r, "%s", err_text(r));
	}
	*counts = *unwind_text_counts(text);
	unwind_text_free(text);
	return r;
}

int frames_convert(struct span file, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e)
{
	struct tables t = {0};
	struct image m;
	int r;

	memset(counts, 0, sizeof(*counts));
	if (msf_is(file.p, file.n))
		return win_write(file, pass, ctx, counts, e);
	r = image_open(&m, file, e);
	if (r == -ENOMSG || (r == 0 && m.kind == IMAGE_COFF && !m.linked))
		return err_set(e, -ENOMSG, "is neither a program nor a library");
	if (r < 0)
		return r;
	r = m.kind == IMAGE_ELF ? tables_elf(file, &t, e) : tables_image(&m, &t, e);
	if (r == 0)
		r = write_tables(&t, pass, ctx, counts, e);
	(m.kind == IMAGE_ELF ? tables_elf_release : tables_image_release)(&t);
	return r;
}

/* Finds the unwind tables of PE and Mach-O files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/private.h"
#include "image/ranges.h"

static void image_table(const struct image *m, enum rows_table table, const char *name, uint64_t base,
	struct tables *out)
{
	struct image_section s;

	if (image_find(m, name, &s) < 0 || !s.bytes.n)
		return;
	out->rows.tables[table].bytes = s.bytes;
	/* A section of a PE file may have more bytes in the file than in memory, zeros for its alignment. */
	if (m->kind == IMAGE_COFF && s.size && s.size < s.bytes.n)
		out->rows.tables[table].bytes.n = s.size;
	out->rows.tables[table].addr = base + s.addr;
}

static int image_ranges(const struct image *m, struct tables *out)
{
	struct text_range *all = NULL;
	size_t n = 0;
	int r = text_ranges(m, &all, &n);

	out->ranges = r == 0 ? calloc(n + 1, sizeof(*out->ranges)) : NULL;
	for (size_t i = 0; out->ranges && i < n; i++)
		out->ranges[out->n_ranges++] = (struct unwind_range){all[i].start, all[i].end};
	free(all);
	return out->ranges ? 0 : -ENOMEM;
}

int tables_image(const struct image *m, struct tables *out, struct err *e)
{
	struct image_macho macho = {0};
	struct image_pe pe = {0};
	int r;

	out->rows.big = m->big;
	out->rows.address_bytes = m->is64 ? 8 : 4;
	if (m->kind == IMAGE_MACHO) {
		r = image_macho(m, &macho);
		if (r < 0)
			return err_set(e, r, "is a broken Mach-O file");
		out->arch[ROWS_EH] = unwind_arch_macho(m->machine, true);
		out->arch[ROWS_DEBUG] = unwind_arch_macho(m->machine, false);
		out->base = macho.base;
		image_table(m, ROWS_EH, "__eh_frame", 0, out);
		image_table(m, ROWS_DEBUG, "__debug_frame", 0, out);
		r = unwind_compact(m, &out->others);
	} else {
		image_pe(m, &pe);
		out->arch[ROWS_EH] = out->arch[ROWS_DEBUG] = unwind_arch_pe(m->machine);
		out->base = pe.base;
		image_table(m, ROWS_EH, ".eh_frame", pe.base, out);
		image_table(m, ROWS_DEBUG, ".debug_frame", pe.base, out);
		r = unwind_pdata(m, &out->others);
	}
	if (r < 0 && r != -ENODATA)
		return err_set(e, r, "%s", r == -EBADMSG ? "has broken unwind tables" : err_text(r));
	r = image_ranges(m, out);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

void tables_image_release(struct tables *t)
{
	unwind_entries_release(&t->others);
	free(t->ranges);
}

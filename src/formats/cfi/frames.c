/* Chooses the reader of a file's unwind tables, and writes the rows that libdwarf reads from them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/cfi/frames.h"
#include "base/util.h"
#include "formats/cfi/private.h"
#include "formats/cfi/rows-private.h"
#include "formats/image/image.h"
#include "formats/image/ranges.h"
#include "formats/pdb/msf.h"

/* ---- the image ------------------------------------------------------------------------------- */

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

/* Finds the tables of a PE or Mach-O file. 0; -ENOMSG, -EBADMSG, -ENOMEM. The caller releases the result in any case.
 * `m` stays in use until then. */
static int tables_image(const struct image *m, struct tables *out, struct err *e)
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

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_within(struct span all, struct span part)
{
	return part.p >= all.p && part.p <= all.p + all.n && part.n <= (size_t)(all.p + all.n - part.p);
}

/* 0; -EBADMSG. */
static int rows_fde(struct rows *r, enum rows_table table, size_t i, struct rows_fde *out)
{
	struct span s = r->file.tables[table].bytes;
	int n = abi_fde(r, r->lists[table].fdes[i], out);

	/* libdwarf checks this, too, but the executor relies on it. */
	if (n == 0 && (!is_within(s, out->code.first) || !is_within(s, out->code.more)))
		n = -EBADMSG;
	if (n == 0)
		out->code.more_at = r->file.tables[table].addr + (uint64_t)(out->code.more.p - s.p);
	return n;
}

/* 0; -ENOMEM; -EBADMSG: libdwarf cannot read such a file. */
static int rows_open(struct rows **out, const struct rows_file *f)
{
	struct rows *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->file = *f;
	e = abi_open(r);
	if (e < 0) {
		free(r->access);
		free(r);
		return e;
	}
	*out = r;
	return 0;
}

/* Frees what libdwarf keeps of entry i. */
static void rows_release(struct rows *r, enum rows_table table, size_t i)
{
	Dwarf_Fde *f = &r->lists[table].fdes[i];

	if (*f)
		dwarf_dealloc(r->dbg, *f, DW_DLA_FDE);
	*f = NULL;
}

static void rows_close(struct rows *r)
{
	if (!r)
		return;
	for (unsigned t = 0; t < ROWS_TABLES; t++) {
		for (Dwarf_Signed i = 0; i < r->lists[t].n_fdes; i++)
			rows_release(r, t, (size_t)i);
		for (Dwarf_Signed i = 0; i < r->lists[t].n_cies; i++)
			dwarf_dealloc(r->dbg, r->lists[t].cies[i], DW_DLA_CIE);
		if (r->lists[t].fdes)
			dwarf_dealloc(r->dbg, r->lists[t].fdes, DW_DLA_LIST);
		if (r->lists[t].cies)
			dwarf_dealloc(r->dbg, r->lists[t].cies, DW_DLA_LIST);
	}
	abi_close(r);
	free(r->access);
	free(r);
}

/* Reads the entries of a table, and sets *n to their number. rows_fde() gives them in order of address. 0; -ENODATA:
 * the table has no entries; -EBADMSG: it is damaged. */
static int rows_list(struct rows *r, enum rows_table table, size_t *n)
{
	Dwarf_Error e = NULL;
	int (*get)(Dwarf_Debug, Dwarf_Cie **, Dwarf_Signed *, Dwarf_Fde **, Dwarf_Signed *, Dwarf_Error *) =
		table == ROWS_EH ? dwarf_get_fde_list_eh : dwarf_get_fde_list;
	int got;

	*n = 0;
	if (!r->file.tables[table].bytes.n)
		return -ENODATA;
	got = get(r->dbg, &r->lists[table].cies, &r->lists[table].n_cies, &r->lists[table].fdes,
		&r->lists[table].n_fdes, &e);
	if (got != DW_DLV_OK)
		memset(&r->lists[table], 0, sizeof(r->lists[table]));
	if (got == DW_DLV_ERROR)
		return rows_failed(r, e);
	*n = (size_t)r->lists[table].n_fdes;
	return *n ? 0 : -ENODATA;
}

/* ---- records --------------------------------------------------------------------------------- */

struct walk {
	const struct tables *t;
	struct unwind_text *to;
	struct rows *rows;
	size_t n[ROWS_TABLES], at[ROWS_TABLES];
	struct rows_fde head[ROWS_TABLES]; /* the next entry of each table */
	size_t other; /* the next entry of the other table */
	struct unwind_executor *executor;
};

/* Reads the next entry of a table that can be read. False: the table has no more. */
static bool next_head(struct walk *w, enum rows_table table)
{
	for (; w->at[table] < w->n[table]; w->at[table]++) {
		if (rows_fde(w->rows, table, w->at[table], &w->head[table]) == 0)
			return true;
		unwind_text_counts(w->to)->gaps[UNWIND_GAP_BROKEN]++;
	}
	return false;
}

/* Writes the next function of a table of DWARF, as far as the address `before`. */
static int write_next(struct walk *w, enum rows_table table, uint64_t before)
{
	struct rows_fde *f = &w->head[table];
	uint64_t end = f->start + f->size;

	f->code.start = f->start;
	f->code.end = end < f->start ? before : MIN(end, before);
	unwind_text_arch(w->to, w->t->arch[table]);
	if (unwind_begin(w->to, f->start, f->code.end))
		unwind_execute(w->executor, w->t->arch[table], &f->code, w->to);
	rows_release(w->rows, table, w->at[table]++);
	return unwind_end(w->to);
}

static int write_other(struct walk *w, uint64_t before)
{
	const struct unwind_entries *l = &w->t->others;
	struct unwind_entry e = l->all[w->other++];

	e.end = MIN(e.end, before);
	unwind_text_arch(w->to, w->t->arch[ROWS_EH]);
	if (unwind_begin(w->to, e.start, e.end))
		l->write(l, &e, w->to);
	return unwind_end(w->to);
}

/* Where several tables have a function, .eh_frame counts, because the program itself unwinds by it; then
 * .debug_frame; then the others, which do not describe epilogs. */
static int write_all(struct walk *w)
{
	const struct unwind_entries *l = &w->t->others;
	bool eh = next_head(w, ROWS_EH), debug = next_head(w, ROWS_DEBUG);
	int r = 0;

	while (r == 0 && (eh || debug || w->other < l->n)) {
		uint64_t eh_at = eh ? w->head[ROWS_EH].start : UINT64_MAX,
			 debug_at = debug ? w->head[ROWS_DEBUG].start : UINT64_MAX,
			 dwarf_at = MIN(eh_at, debug_at);

		if (w->other < l->n && (l->all[w->other].start < dwarf_at || (!eh && !debug))) {
			r = write_other(w, dwarf_at);
		} else if (eh && eh_at <= debug_at) {
			r = write_next(w, ROWS_EH, UINT64_MAX);
			eh = next_head(w, ROWS_EH);
		} else {
			r = write_next(w, ROWS_DEBUG, eh_at);
			debug = next_head(w, ROWS_DEBUG);
		}
	}
	return r;
}

/* Writes the rows of all tables. 0; -ENODATA, -EBADMSG, -ENOMEM, errors of the writer. */
static int cfi_write(const struct tables *t, struct unwind_text *to, struct err *e)
{
	struct walk w = {.t = t, .to = to};
	bool dwarf = t->rows.tables[ROWS_EH].bytes.n || t->rows.tables[ROWS_DEBUG].bytes.n;
	struct unwind_executor_opts o = {.big = t->rows.big, .address_bytes = t->rows.address_bytes};
	int r = dwarf ? rows_open(&w.rows, &t->rows) : 0, eh, debug;

	if (r < 0)
		return err_set(e, r, "%s", r == -EBADMSG ? "has unwind tables that libdwarf cannot read"
			: err_text(r));
	eh = dwarf ? rows_list(w.rows, ROWS_EH, &w.n[ROWS_EH]) : -ENODATA;
	debug = dwarf ? rows_list(w.rows, ROWS_DEBUG, &w.n[ROWS_DEBUG]) : -ENODATA;
	if (eh == 0 || debug == 0 || t->others.n)
		r = unwind_executor_new(&w.executor, &o);
	else
		r = eh == -EBADMSG || debug == -EBADMSG ? -EBADMSG : -ENODATA;
	if (r == 0)
		r = write_all(&w);
	unwind_executor_free(w.executor);
	rows_close(w.rows);
	if (r == -EBADMSG)
		return err_set(e, r, "has broken unwind tables");
	if (r == -ENODATA)
		return err_set(e, r, "has no unwind tables");
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

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
	if (r == -ENOMSG || (r == 0 && (m.kind == IMAGE_WASM || (m.kind == IMAGE_COFF && !m.linked))))
		return err_set(e, -ENOMSG, "is neither a program nor a library");
	if (r < 0)
		return r;
	r = m.kind == IMAGE_ELF ? tables_elf(file, &t, e) : tables_image(&m, &t, e);
	if (r == 0)
		r = write_tables(&t, pass, ctx, counts, e);
	tables_release(&t);
	return r;
}

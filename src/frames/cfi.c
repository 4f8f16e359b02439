/* Passes the rows of all tables of a file to the writer of text, in order of address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/private.h"

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

int cfi_write(const struct tables *t, struct unwind_text *to, struct err *e)
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

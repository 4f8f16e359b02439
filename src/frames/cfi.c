/* Passes the rows of all tables of a file to the writer of text, in order of address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/columns.h"
#include "frames/private.h"

#define ROWS_MOST 4096 /* rows of a function that are written; the time for a function grows as their square */
#define COLUMNS_MOST 1000
#define COLUMNS_UNSURE 300 /* for a function with an unknown instruction */
/* Steps of libdwarf through instructions in a file. It takes them anew for each row of a function. Real files need
 * some 10 for each row. */
#define STEPS_MOST (1ull << 30)

struct walk {
	const struct tables *t;
	struct unwind_text *to;
	struct rows *rows;
	size_t n[ROWS_TABLES], at[ROWS_TABLES];
	struct rows_fde head[ROWS_TABLES]; /* the next entry of each table */
	size_t other; /* the next entry of the other table */
	unsigned columns;
	struct changes changes;
	uint64_t steps;
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

/* The number of columns that libdwarf needs for an entry. 0: the entry is damaged. */
static unsigned count_columns(struct walk *w, enum rows_table table, size_t i)
{
	struct columns c = {0};
	struct rows_fde f;
	unsigned n;

	if (rows_fde(w->rows, table, i, &f) < 0)
		return 0;
	c.most = f.ra_column;
	columns_add(&c, f.first);
	columns_add(&c, f.more);
	n = c.unsure ? MAX(c.most + 1, (unsigned)COLUMNS_UNSURE) : c.most + 1;
	return n > COLUMNS_MOST ? 0 : n;
}

/* libdwarf makes a table of all columns for each row, so it gets only as many as the entries need. The number is the
 * same for all: libdwarf keeps the first row of a CIE, and fails if the number differs later. */
static void choose_columns(struct walk *w)
{
	w->columns = 1;
	for (unsigned table = 0; table < ROWS_TABLES; table++)
		for (size_t i = 0; i < w->n[table]; i++)
			w->columns = MAX(w->columns, count_columns(w, (enum rows_table)table, i));
	rows_columns(w->rows, w->columns);
}

/* The registers that have rules in a function, and where the rules change. */
static struct columns read_columns(struct walk *w, const struct rows_fde *f)
{
	struct columns c = {.most = f->ra_column};

	columns_add(&c, f->first);
	columns_changes(&c, f->more, f->start, f->unit, w->t->rows.big, &w->changes);
	if (c.unsure)
		c.low = UINT64_MAX;
	return c;
}

/* Reads the rules of the registers at `pc`. */
static int read_registers(struct walk *w, enum rows_table table, const struct columns *c, uint64_t pc,
	struct unwind_row *row)
{
	size_t i = w->at[table];
	int r = 0;

	for (uint64_t left = c->low; r == 0 && left; left &= left - 1) {
		unsigned reg = (unsigned)__builtin_ctzll(left);

		if (reg < w->t->arch[table]->n && reg != row->ra_column)
			r = rows_register(w->rows, table, i, reg, pc, &row->regs[reg]);
	}
	if (r == 0 && row->ra_column < w->columns)
		r = rows_register(w->rows, table, i, row->ra_column, pc, &row->ra);
	if (row->ra.kind == UNWIND_NONE)
		row->ra.reg = (uint16_t)row->ra_column; /* for the reason of a gap */
	return r;
}

/* Whether the rules of registers may differ at `pc` from those of the row before. *nth is the first change that was
 * not met yet. */
static bool changes_at(const struct changes *c, uint64_t pc, unsigned *nth)
{
	unsigned before = *nth;

	while (*nth < c->n && c->at[*nth] <= pc)
		++*nth;
	return c->all || *nth != before;
}

static void write_fde(struct walk *w, enum rows_table table, uint64_t end)
{
	const struct rows_fde *f = &w->head[table];
	struct columns c = read_columns(w, f);
	struct unwind_row row = {.ra_column = f->ra_column};
	uint64_t pc = f->start, next;
	unsigned nth = 0;

	for (unsigned n = 0; pc < end; n++) {
		bool changed = changes_at(&w->changes, pc, &nth) || !n;
		int r;

		w->steps += (f->first.n + f->more.n + w->columns) / 8 + 1;
		if (n == ROWS_MOST || w->steps > STEPS_MOST) {
			unwind_gap(w->to, pc, UNWIND_GAP_ROWS);
			return;
		}
		r = rows_cfa(w->rows, table, w->at[table], pc, &row.cfa, &next);
		if (r == 0 && changed)
			r = read_registers(w, table, &c, pc, &row);
		if (r < 0 || (next && next <= pc)) {
			unwind_gap(w->to, pc, UNWIND_GAP_BROKEN);
			return;
		}
		unwind_row(w->to, pc, next ? MIN(next, end) : end, &row);
		if (!next)
			return;
		pc = next;
	}
}

/* Writes the next function of a table of DWARF, as far as the address `before`. */
static int write_next(struct walk *w, enum rows_table table, uint64_t before)
{
	const struct rows_fde *f = &w->head[table];
	uint64_t end = f->start + f->size;

	end = end < f->start ? before : MIN(end, before);
	unwind_text_arch(w->to, w->t->arch[table]);
	if (unwind_begin(w->to, f->start, end))
		write_fde(w, table, end);
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
	int r = dwarf ? rows_open(&w.rows, &t->rows) : 0, eh, debug;

	if (r < 0)
		return err_set(e, r, "%s", r == -EBADMSG ? "has unwind tables that libdwarf cannot read" : err_text(r));
	eh = dwarf ? rows_list(w.rows, ROWS_EH, &w.n[ROWS_EH]) : -ENODATA;
	debug = dwarf ? rows_list(w.rows, ROWS_DEBUG, &w.n[ROWS_DEBUG]) : -ENODATA;
	if (dwarf)
		choose_columns(&w);
	if (eh == 0 || debug == 0 || t->others.n)
		r = write_all(&w);
	else
		r = eh == -EBADMSG || debug == -EBADMSG ? -EBADMSG : -ENODATA;
	rows_close(w.rows);
	if (r == -EBADMSG)
		return err_set(e, r, "has broken unwind tables");
	if (r == -ENODATA)
		return err_set(e, r, "has no unwind tables");
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

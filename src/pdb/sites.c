/* Reads the inlined calls of a function. The annotations of a call site map its bytes to lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/compressed.h"
#include "base/grow.h"
#include "base/little.h"
#include "base/util.h"
#include "pdb/frames.h"
#include "pdb/module-private.h"

#include <stdlib.h>

#define ANNOTATIONS_AT 16 /* offset in the record; S_INLINESITE2 has a count before the annotations */

enum {
	OP_CODE_OFFSET = 1, OP_CODE_BASE, OP_CHANGE_OFFSET, OP_CHANGE_LENGTH, OP_CHANGE_FILE, OP_CHANGE_LINE,
	OP_LINE_END, OP_RANGE_KIND, OP_COLUMN_START, OP_COLUMN_END_DELTA, OP_OFFSET_AND_LINE, OP_LENGTH_AND_OFFSET,
	OP_COLUMN_END
};

/* The state while annotations are executed like a program. Offsets count from the start of the function. */
struct program {
	struct span in;
	uint32_t file, line, off;
	bool open; /* a row began at `row_off` and has no end yet */
	uint32_t row_off, row_file, row_line;
	uint32_t base, most; /* the function's start and size */
	struct pdb_rows *rows;
};

static uint32_t with_sign(uint32_t v)
{
	return v & 1 ? -(v >> 1) : v >> 1;
}

/* Adds a row, cut to the function; a row outside of the function is dropped. */
static int add_row(struct program *g, uint32_t from, uint32_t to)
{
	int r;

	if (from >= to || from >= g->most)
		return 0;
	to = MIN(to, g->most);
	r = grow(&g->rows->at, &g->rows->room, g->rows->n, sizeof(*g->rows->at));
	if (r == 0)
		g->rows->at[g->rows->n++] = (struct pdb_row){g->base + from, g->base + to, g->row_file, g->row_line};
	return r;
}

static int end_row(struct program *g, uint32_t to)
{
	int r = g->open ? add_row(g, g->row_off, to) : 0;

	g->open = false;
	return r;
}

/* Begins a row, and ends the row before it if that row is still open. */
static int begin_row(struct program *g)
{
	int r = end_row(g, g->off);

	g->open = true;
	g->row_off = g->off;
	g->row_file = g->file;
	g->row_line = g->line;
	return r;
}

static int run_operation(struct program *g, uint32_t op, uint32_t v)
{
	switch (op) {
	case OP_CODE_OFFSET:
		g->off = v;
		return 0;
	case OP_CHANGE_OFFSET:
		g->off += v;
		return begin_row(g);
	case OP_CHANGE_LENGTH:
		g->off += v;
		return end_row(g, g->off);
	case OP_CHANGE_FILE:
		g->file = v;
		return 0;
	case OP_CHANGE_LINE:
		g->line += with_sign(v);
		return 0;
	case OP_OFFSET_AND_LINE:
		g->line += with_sign(v >> 4);
		g->off += v & 0xf;
		return begin_row(g);
	default: /* columns and range kinds are ignored */
		return 0;
	}
}

/* Runs OP_LENGTH_AND_OFFSET, whose length comes first. The offset stays at the beginning of the row, unlike
 * after OP_CHANGE_LENGTH. */
static int run_length_and_offset(struct program *g, uint32_t len)
{
	uint32_t delta;
	int r;

	if (!take_compressed(&g->in, &delta))
		return -ENODATA;
	g->off += delta;
	r = begin_row(g);
	return r < 0 ? r : end_row(g, g->off + len);
}

/* Runs the annotations. Ends at the first unknown operation, because the number of its operands is unknown,
 * too. */
static int run_program(struct program *g)
{
	uint32_t op, v;
	int r = 0;

	while (r == 0 && take_compressed(&g->in, &op) && op >= OP_CODE_OFFSET && op <= OP_COLUMN_END &&
		op != OP_CODE_BASE && take_compressed(&g->in, &v))
		r = op == OP_LENGTH_AND_OFFSET ? run_length_and_offset(g, v) : run_operation(g, op, v);
	return r == -ENODATA ? 0 : r;
}

static int read_site(const struct pdb_code *c, const struct pdb_func *f, const struct pdb_symbol *s, int parent,
	struct pdb_sites *out)
{
	size_t skip = s->kind == S_INLINESITE2 ? ANNOTATIONS_AT + 4 : ANNOTATIONS_AT;
	struct program g = {.base = f->off, .most = f->size, .rows = &out->rows};
	struct pdb_site *site;
	int r = grow(&out->at, &out->room, out->n, sizeof(*out->at));

	if (r < 0)
		return r;
	site = &out->at[out->n++];
	*site = (struct pdb_site){.parent = parent, .row = out->rows.n};
	if (s->record.n >= skip) {
		site->inlinee = le32(s->record.p + 12);
		g.in = (struct span){s->record.p + skip, s->record.n - skip};
		if (pdb_inlinee_of(c, site->inlinee, &g.file, &g.line))
			r = run_program(&g);
	}
	site->row_end = site->all_end = out->rows.n;
	return r;
}

/* The state while walking through nested call sites. A block does not change the innermost site. Scopes of other
 * functions are skipped. */
struct walk {
	int site[PDB_DEPTH_MOST]; /* the innermost site in each open scope; -1: the function itself */
	bool begins[PDB_DEPTH_MOST]; /* whether the scope is a call site, not a block */
	unsigned depth, foreign; /* numbers of open scopes: of the function, and of skipped scopes in it */
};

static bool is_site(uint16_t kind)
{
	return kind == S_INLINESITE || kind == S_INLINESITE2;
}

static void close_scope(struct walk *w, struct pdb_sites *out)
{
	if (w->foreign) {
		w->foreign--;
	} else if (w->depth) {
		if (w->begins[w->depth])
			out->at[w->site[w->depth]].all_end = out->rows.n;
		w->depth--;
	}
}

static int open_scope(struct walk *w, const struct pdb_code *c, const struct pdb_func *f, const struct pdb_symbol *s,
	struct pdb_sites *out)
{
	bool inner = is_site(s->kind) || s->kind == S_BLOCK32 || s->kind == S_WITH32;
	int r = 0;

	if (w->foreign || !inner || w->depth + 1 == PDB_DEPTH_MOST) {
		w->foreign++;
		return 0;
	}
	if (is_site(s->kind))
		r = read_site(c, f, s, w->site[w->depth], out);
	w->depth++;
	w->begins[w->depth] = is_site(s->kind);
	w->site[w->depth] = w->begins[w->depth] ? (int)out->n - 1 : w->site[w->depth - 1];
	return r;
}

int pdb_sites_of(const struct pdb_code *c, const struct pdb_func *f, struct pdb_sites *out)
{
	struct walk w = {.site = {-1}};
	struct pdb_symbol s;
	uint32_t at = f->at;
	int r = 0;

	*out = (struct pdb_sites){0};
	if (!f->calls)
		return 0;
	if (f->kind == PDB_SEPARATED)
		return 0; /* offsets count from the start of the function that the code was separated from */
	while (r == 0 && pdb_symbol_next(c->symbols, &at, f->end, &s)) {
		if (pdb_symbol_opens(s.kind))
			r = open_scope(&w, c, f, &s, out);
		else if (pdb_symbol_closes(s.kind))
			close_scope(&w, out);
	}
	while (w.depth)
		close_scope(&w, out);
	return r;
}

void pdb_sites_release(struct pdb_sites *s)
{
	free(take(s->at));
	pdb_rows_release(&s->rows);
	s->n = s->room = 0;
}

/* Cuts functions into pieces. All addresses of a piece have the same frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/frames.h"
#include "base/compressed.h"
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/module-private.h"

#include <stdlib.h>

/* Reads the inlined calls of a function. The annotations of a call site map its bytes to lines. */

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
	if (from >= to || from >= g->most)
		return 0;
	to = MIN(to, g->most);
	return APPEND(g->rows->at, g->rows->room, g->rows->n,
		(struct pdb_row){g->base + from, g->base + to, g->row_file, g->row_line});
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

/* Finds the file and the line at which the body of an inlined function begins. False: the function is not
 * listed. */
static bool inlinee_of(const struct pdb_code *c, uint32_t id, uint32_t *file, uint32_t *line)
{
	size_t from = search_first(i, 0, c->n_inlinees, c->inlinees[i].id < id);

	if (from == c->n_inlinees || c->inlinees[from].id != id)
		return false;
	*file = c->inlinees[from].file;
	*line = c->inlinees[from].line;
	return true;
}

static int read_site(const struct pdb_code *c, const struct pdb_func *f, const struct pdb_symbol *s, int parent,
	struct pdb_sites *out)
{
	size_t skip = s->kind == S_INLINESITE2 ? ANNOTATIONS_AT + 4 : ANNOTATIONS_AT;
	struct program g = {.base = f->off, .most = f->size, .rows = &out->rows};
	struct pdb_site *site;
	int r = APPEND(out->at, out->room, out->n, (struct pdb_site){.parent = parent, .row = out->rows.n});

	if (r < 0)
		return r;
	site = &out->at[out->n - 1];
	if (s->record.n >= skip) {
		site->inlinee = le32(s->record.p + 12);
		g.in = (struct span){s->record.p + skip, s->record.n - skip};
		if (inlinee_of(c, site->inlinee, &g.file, &g.line))
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

/* Reads the inlined calls of a function. A call comes before the calls inside it, and siblings are in the
 * order of the stream. 0; -ENOMEM. Call pdb_sites_release() in every case. */
static int pdb_sites_of(const struct pdb_code *c, const struct pdb_func *f, struct pdb_sites *out)
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

static void pdb_sites_release(struct pdb_sites *s)
{
	free(take(s->at));
	pdb_rows_release(&s->rows);
	s->n = s->room = 0;
}

#define WORK_MOST (16u << 20)
#define WORK_EACH 64 /* the most steps for each row and each piece of a function, beside WORK_LEAST for all */
#define WORK_LEAST (64u << 10)
/* Offsets are sorted by bits if the function has at most this many 64-byte units of code more than offsets. */
#define DENSE 16

/* Sorts offsets, and keeps one of each. Returns their number. */
static size_t sort_offsets(uint32_t *at, size_t n)
{
	size_t kept = 1;

	qsort(at, n, sizeof(*at), compare_u32);
	for (size_t i = 1; i < n; i++)
		if (at[i] != at[kept - 1])
			at[kept++] = at[i];
	return kept;
}

/* As sort_offsets(), for offsets in [base, base + 64 * words): faster if they are dense. `bits` are zeros. */
static size_t sort_dense(uint32_t *at, size_t n, uint32_t base, uint64_t *bits, size_t words)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		bits[(at[i] - base) / 64] |= 1ull << (at[i] - base) % 64;
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = bits[w]; left; left &= left - 1)
			at[kept++] = base + (uint32_t)(64 * w) + (uint32_t)__builtin_ctzll(left);
	return kept;
}

/* Lists all offsets at which a row of the function or of a call begins or ends, ascending. */
static int find_cuts(const struct pdb_func *f, const struct pdb_rows *lines, const struct pdb_rows *rows,
	uint32_t **out, size_t *n)
{
	const struct pdb_rows *both[] = {lines, rows};
	size_t most = 2 * (lines->n + rows->n) + 2, words = f->size / 64 + 1, all = 0;
	_cleanup_free_ uint64_t *bits = words <= most + DENSE ? calloc(words, sizeof(*bits)) : NULL;
	uint32_t *at = malloc(most * sizeof(*at));

	if (!at)
		return -ENOMEM;
	at[all++] = f->off;
	at[all++] = f->off + f->size;
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < both[k]->n; i++) {
			at[all++] = both[k]->at[i].from;
			at[all++] = both[k]->at[i].to;
		}
	*n = bits ? sort_dense(at, all, f->off, bits, words) : sort_offsets(at, all);
	*out = at;
	return 0;
}

/* The index of the piece that begins at `off`, which must be one of the cuts. */
static size_t piece_at(const struct pdb_pieces_of *p, uint32_t off)
{
	return search_first(i, 0, p->n, p->at[i].from < off);
}

static int make_pieces(const struct pdb_func *f, const struct pdb_rows *lines, struct pdb_pieces_of *out)
{
	_cleanup_free_ uint32_t *cuts = NULL;
	size_t n, row = 0;
	int r = find_cuts(f, lines, &out->sites.rows, &cuts, &n);

	if (r < 0)
		return r;
	out->at = calloc(n, sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n; i++) {
		struct pdb_piece *p = &out->at[out->n++];

		*p = (struct pdb_piece){.from = cuts[i], .to = cuts[i + 1], .cell = -1};
		while (row < lines->n && lines->at[row].to <= p->from)
			row++;
		if (row < lines->n && lines->at[row].from <= p->from) {
			p->file = lines->at[row].file;
			p->line = lines->at[row].line;
		}
	}
	return 0;
}

/* Adds a call to the pieces of one row in which its caller is the innermost frame so far. Pieces that
 * already have a sibling of the call stay unchanged. */
static int paint_row(struct pdb_pieces_of *p, int site, const struct pdb_row *row, bool own, uint64_t most,
	uint64_t *work)
{
	int parent = p->sites.at[site].parent;

	for (size_t i = piece_at(p, row->from); *work < most && i < p->n && p->at[i].from < row->to; i++) {
		int cell = p->at[i].cell;

		++*work;
		if ((cell < 0 ? -1 : p->cells[cell].site) != parent)
			continue;
		if (APPEND(p->cells, p->cells_room, p->n_cells,
			(struct pdb_cell){cell, site, own ? row->file : 0, own ? row->line : 0}) < 0)
			return -ENOMEM;
		p->at[i].cell = (int)p->n_cells - 1;
	}
	return 0;
}

/* Adds all calls to the pieces. A call that has no row of its own at a piece is added with an unknown line, if a
 * call inside it has a row there. */
static int paint(struct pdb_pieces_of *p)
{
	uint64_t work = 0, most = WORK_LEAST + WORK_EACH * (uint64_t)(p->sites.rows.n + p->n);
	int r = 0;

	most = MIN(most, (uint64_t)WORK_MOST);
	for (size_t s = 0; r == 0 && s < p->sites.n && work < most; s++) {
		const struct pdb_site *site = &p->sites.at[s];

		for (size_t i = site->row; r == 0 && i < site->all_end && work++ < most; i++)
			r = paint_row(p, (int)s, &p->sites.rows.at[i], i < site->row_end, most, &work);
	}
	if (work >= most)
		for (size_t i = 0; i < p->n; i++)
			p->at[i].cell = -1;
	return r;
}

int pdb_cut(const struct pdb_code *c, const struct pdb_func *f, struct pdb_pieces_of *out)
{
	struct pdb_rows lines = {0};
	int r;

	*out = (struct pdb_pieces_of){0};
	r = pdb_lines_of(c, f->section, f->off, f->size, &lines);
	if (r == 0)
		r = pdb_sites_of(c, f, &out->sites);
	if (r == 0)
		r = make_pieces(f, &lines, out);
	if (r == 0)
		r = paint(out);
	pdb_rows_release(&lines);
	if (r < 0)
		pdb_cut_release(out);
	return r;
}

void pdb_cut_release(struct pdb_pieces_of *p)
{
	pdb_sites_release(&p->sites);
	free(take(p->cells));
	free(take(p->at));
	p->n = p->n_cells = p->cells_room = 0;
}

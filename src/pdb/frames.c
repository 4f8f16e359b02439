/* Cuts functions into pieces. All addresses of a piece have the same frames. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pdb/frames.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "pdb/module-private.h"

#include <stdlib.h>

#define WORK_MOST (16u << 20)
#define WORK_EACH 64 /* the most steps for each row and each piece of a function, beside WORK_LEAST for all */
#define WORK_LEAST (64u << 10)
/* Offsets are sorted by bits if the function has at most this many 64-byte units of code more than offsets. */
#define DENSE 16

static int compare_offsets(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts offsets, and keeps one of each. Returns their number. */
static size_t sort_offsets(uint32_t *at, size_t n)
{
	size_t kept = 1;

	qsort(at, n, sizeof(*at), compare_offsets);
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
		int r;

		++*work;
		if ((cell < 0 ? -1 : p->cells[cell].site) != parent)
			continue;
		r = grow(&p->cells, &p->cells_room, p->n_cells, sizeof(*p->cells));
		if (r < 0)
			return r;
		p->cells[p->n_cells] =
			(struct pdb_cell){cell, site, own ? row->file : 0, own ? row->line : 0};
		p->at[i].cell = (int)p->n_cells++;
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

void pdb_kept_release(struct pdb_kept *k)
{
	pdb_cut_release(&k->cut);
	free(take(k->starts));
	k->func = NULL;
}

void pdb_cut_release(struct pdb_pieces_of *p)
{
	pdb_sites_release(&p->sites);
	free(take(p->cells));
	free(take(p->at));
	p->n = p->n_cells = p->cells_room = 0;
}

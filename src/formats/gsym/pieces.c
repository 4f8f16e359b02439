/* Cuts overlapping functions of a writer into pieces that do not overlap. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/pieces.h"
#include "base/grow.h"
#include "formats/gsym/write-private.h"

/* ---- which function has an address ------------------------------------------------------ */

/* A function that has begun. The top of the stack has the addresses; the functions below it may have those behind its
 * end. */
struct begun {
	const struct entry *of;
	bool shared;
};

struct sweep {
	struct gsym_pieces *out;
	struct begun *stack;
	size_t n, room;
	uint64_t at; /* pieces up to here are in the list */
};

/* A function of size 0 has its own address. */
static uint64_t end_of(const struct entry *x)
{
	return x->addr + MAX(x->size, 1u);
}

static int add_piece(struct sweep *s, const struct begun *b, uint64_t end)
{
	struct gsym_pieces *p = s->out;

	if (s->at >= end)
		return 0;
	return APPEND(p->at, p->room, p->n, (struct gsym_piece){.start = s->at, .end = end, .name = b->of->name,
		.rank = b->of->rank, .shared = b->shared && s->at == b->of->addr, .of = b->of});
}

/* Lists the pieces up to an address. */
static int sweep_to(struct sweep *s, uint64_t addr)
{
	int r = 0;

	while (r == 0 && s->n && s->at < addr) {
		const struct begun *top = &s->stack[s->n - 1];
		uint64_t end = end_of(top->of);

		r = add_piece(s, top, MIN(end, addr));
		s->at = MAX(s->at, MIN(end, addr));
		s->n -= end <= addr;
	}
	s->at = MAX(s->at, addr);
	return r;
}

/* Whether functions with different names begin at the address of all[i], of the n functions from there on that
 * begin at the same address. */
static bool is_shared(const struct entry **all, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (all[i]->name && all[i]->name != all[0]->name)
			return true;
	return false;
}

/* Begins the functions at one address that write_sort() keeps, the shortest on top: a look-up finds the shortest that
 * covers an address. */
static int begin_all(struct sweep *s, const struct entry **all, size_t n)
{
	bool shared = is_shared(all, n);
	int r = sweep_to(s, all[0]->addr);

	for (size_t i = n; r == 0 && i--;)
		if (all[i]->name && (!i || (all[i]->size && all[i]->size != all[i - 1]->size)))
			r = APPEND(s->stack, s->room, s->n, (struct begun){all[i], shared});
	return r;
}

int gsym_pieces_new(struct gsym_pieces *out, const struct gsym_writer *w)
{
	struct sweep s = {.out = out};
	const struct entry **all;
	size_t n, to;
	int r;

	*out = (struct gsym_pieces){.w = w, .base = w->main->base, .n_files = (uint32_t)w->main->files.n + 1,
		.n_texts = (uint32_t)w->main->texts.n + 1};
	r = write_sort_all(w, &all, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i = to) {
		for (to = i; to < n && all[to]->addr == all[i]->addr;)
			to++;
		r = begin_all(&s, all + i, to - i);
	}
	if (r == 0)
		r = sweep_to(&s, UINT64_MAX);
	free(s.stack);
	free(all);
	return r;
}

/* ---- parts of a piece ------------------------------------------------------------------- */

static int cut_rows(const struct gsym_piece *p, struct gsym_parts *out)
{
	const struct entry *x = p->of;
	const struct row *rows = x->of->rows + x->rows;

	for (uint32_t i = 0; i < x->n_rows; i++) {
		uint64_t addr = x->addr + rows[i].at;

		if (addr >= p->end)
			break;
		if (i + 1 < x->n_rows && x->addr + rows[i + 1].at <= p->start)
			continue;
		if (APPEND(out->rows, out->rows_room, out->n_rows,
			(struct gsym_piece_row){MAX(addr, p->start), rows[i].file, rows[i].line}) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the ranges of the last call that lie in the piece. */
static int cut_ranges(const struct gsym_piece *p, const struct range *ranges, uint32_t n, struct gsym_parts *out)
{
	struct gsym_piece_call *call = &out->calls[out->n_calls - 1];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = MAX(p->of->addr + ranges[i].at, p->start),
			 end = MIN(p->of->addr + ranges[i].at + ranges[i].size, p->end);

		if (start >= end)
			continue;
		if (APPEND(out->ranges, out->ranges_room, out->n_ranges, (struct gsym_piece_range){start, end}) < 0)
			return -ENOMEM;
		call->n_ranges++;
	}
	return 0;
}

static int cut_calls(const struct gsym_piece *p, struct gsym_parts *out)
{
	const struct entry *x = p->of;
	const struct node *nodes = x->of->nodes + x->nodes;
	const struct range *ranges = x->of->ranges + x->ranges;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < x->n_nodes; ranges += nodes[i++].n_ranges) {
		struct gsym_piece_call call = {.depth = nodes[i].depth, .name = nodes[i].name,
			.call_file = nodes[i].call_file, .call_line = nodes[i].call_line, .ranges = out->n_ranges};

		r = APPEND(out->calls, out->calls_room, out->n_calls, call);
		if (r == 0)
			r = cut_ranges(p, ranges, nodes[i].n_ranges, out);
		/* The calls in a call have no ranges in the piece, either. */
		if (r == 0 && !out->calls[out->n_calls - 1].n_ranges)
			out->n_calls--;
	}
	return r;
}

int gsym_piece_parts(const struct gsym_piece *p, struct gsym_parts *out)
{
	int r;

	out->n_rows = out->n_calls = out->n_ranges = 0;
	r = cut_rows(p, out);
	return r < 0 ? r : cut_calls(p, out);
}

void gsym_file_parts(const struct gsym_writer *w, uint32_t file, const char **dir, const char **base)
{
	struct pair p = file < w->main->files.n ? texts_pair(&w->main->files, file) : (struct pair){0};

	*dir = texts_at(&w->main->texts, p.dir);
	*base = texts_at(&w->main->texts, p.base);
}

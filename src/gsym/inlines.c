/* The tree of inlined calls, level by level. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/inlines.h"
#include "base/util.h"
#include "gsym/texts.h"

#include <string.h>
#include "base/banned.h"

#define NOBODY UINT32_MAX
/* In a tree each range lies in one place of the level above, and is kept twice. Calls that lie across
 * each other become more, level by level: what is far from a tree may not cost time without end. */
#define PIECES_EACH 16
#define PIECES_ANYWAY 4096

/* Where a call lies in the tree. */
struct inline_place {
	uint32_t call, parent; /* `parent` is a place */
	size_t pieces;	       /* the first of its own */
	uint32_t n_pieces;
	uint32_t child, next; /* places */
};

struct inline_piece {
	uint64_t start, end;
	uint32_t call, parent, place;
};

int inlines_add(
	struct inlines *in, unsigned depth, uint32_t name, uint32_t call_file, uint32_t call_line)
{
	if (grow(&in->calls, &in->calls_room, in->n_calls, sizeof(*in->calls)) < 0)
		return -ENOMEM;
	in->calls[in->n_calls++] =
		(struct inline_call){depth, name, call_file, call_line, in->n_ranges, 0};
	return 0;
}

int inlines_range(struct inlines *in, uint64_t start, uint64_t size)
{
	if (!size || start + size < start)
		return 0;
	if (grow(&in->ranges, &in->ranges_room, in->n_ranges, sizeof(*in->ranges)) < 0)
		return -ENOMEM;
	in->ranges[in->n_ranges++] = (struct inline_range){start, start + size};
	in->calls[in->n_calls - 1].n_ranges++;
	return 0;
}

void inlines_clear(struct inlines *in)
{
	in->n_calls = in->n_ranges = in->n_pieces = in->n_places = 0;
}

void inlines_release(struct inlines *in)
{
	free(in->calls);
	free(in->ranges);
	free(in->pieces);
	free(in->places);
	memset(in, 0, sizeof(*in));
}

/* ---- one level ----------------------------------------------------------------------- */

static int add_piece(struct inlines *in, struct inline_piece p)
{
	if (in->n_pieces >= PIECES_ANYWAY + PIECES_EACH * in->n_ranges)
		return -E2BIG;
	if (grow(&in->pieces, &in->pieces_room, in->n_pieces, sizeof(*in->pieces)) < 0)
		return -ENOMEM;
	in->pieces[in->n_pieces++] = p;
	return 0;
}

/* The first of the sorted pieces from..to that ends behind `addr`, if they do not overlap. */
static size_t first_behind(const struct inlines *in, size_t from, size_t to, uint64_t addr)
{
	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (in->pieces[mid].end <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* What of a range lies in the pieces from..to of the level above. */
static int cut_range(
	struct inlines *in, uint32_t call, struct inline_range r, size_t from, size_t to)
{
	for (size_t i = first_behind(in, from, to, r.start); i < to; i++) {
		struct inline_piece above = in->pieces[i];
		int result;

		if (above.start >= r.end)
			break;
		result = add_piece(in, (struct inline_piece){MAX(above.start, r.start),
					       MIN(above.end, r.end), call, above.place, 0});
		if (result < 0)
			return result;
	}
	return 0;
}

static int compare_owner(const void *a, const void *b)
{
	const struct inline_piece *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int compare_start(const void *a, const void *b)
{
	const struct inline_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* All pieces of one call in one parent are one place. */
static int make_places(struct inlines *in, size_t from)
{
	for (size_t i = from; i < in->n_pieces; i++) {
		struct inline_piece *p = &in->pieces[i];

		if (i == from || p->call != p[-1].call || p->parent != p[-1].parent) {
			if (grow(&in->places, &in->places_room, in->n_places, sizeof(*in->places)) <
				0)
				return -ENOMEM;
			in->places[in->n_places++] = (struct inline_place){
				p->call, p->parent, i, 0, NOBODY, NOBODY};
		}
		p->place = (uint32_t)in->n_places - 1;
		in->places[p->place].n_pieces++;
	}
	return 0;
}

/* Pieces of a level are needed twice: by place, to be told, and by address, for the level below.
 * The second is a copy behind the first; *to is where it ends. */
static int copy_sorted(struct inlines *in, size_t from, size_t *start, size_t *end)
{
	size_t n = in->n_pieces - from;

	*start = in->n_pieces;
	for (size_t i = 0; i < n; i++) {
		int r = add_piece(in, in->pieces[from + i]);

		if (r < 0)
			return r;
	}
	*end = in->n_pieces;
	qsort(in->pieces + *start, n, sizeof(*in->pieces), compare_start);
	return 0;
}

static int make_level(struct inlines *in, unsigned depth, size_t *above, size_t *above_end)
{
	size_t from = in->n_pieces;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_calls; i++) {
		const struct inline_call *c = &in->calls[i];

		if (c->depth != depth)
			continue;
		for (uint32_t k = 0; r == 0 && k < c->n_ranges; k++) {
			struct inline_range range = in->ranges[c->ranges + k];

			r = depth ? cut_range(in, (uint32_t)i, range, *above, *above_end)
				  : add_piece(in, (struct inline_piece){range.start, range.end,
							  (uint32_t)i, NOBODY, 0});
		}
	}
	if (r < 0 || in->n_pieces == from)
		return r;
	qsort(in->pieces + from, in->n_pieces - from, sizeof(*in->pieces), compare_owner);
	r = make_places(in, from);
	return r < 0 ? r : copy_sorted(in, from, above, above_end);
}

/* ---- the tree ------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct inlines *in = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t s = in->pieces[in->places[x].pieces].start,
		 t = in->pieces[in->places[y].pieces].start;

	return s != t ? (s < t ? -1 : 1) : (x > y) - (x < y);
}

/* Children in order of address. */
static int link_places(struct inlines *in, uint32_t *first)
{
	_cleanup_free_ uint32_t *order = malloc(in->n_places * sizeof(*order) + 1);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->n_places; i++)
		order[i] = i;
	qsort_r(order, in->n_places, sizeof(*order), compare_places, in);
	*first = NOBODY;
	for (size_t i = in->n_places; i-- > 0;) {
		struct inline_place *p = &in->places[order[i]];
		uint32_t *head = p->parent == NOBODY ? first : &in->places[p->parent].child;

		p->next = *head;
		*head = order[i];
	}
	return 0;
}

/* As deep as there are levels. */
static int tell(struct inlines *in, struct gsym_writer *w, uint32_t at, unsigned depth)
{
	for (; at != NOBODY; at = in->places[at].next) {
		const struct inline_place *p = &in->places[at];
		const struct inline_call *c = &in->calls[p->call];
		int r = gsym_add_inline(w, depth, c->name, c->call_file, c->call_line);

		for (uint32_t k = 0; r == 0 && k < p->n_pieces; k++) {
			const struct inline_piece *piece = &in->pieces[p->pieces + k];

			r = gsym_add_range(w, piece->start, piece->end - piece->start);
		}
		if (r == 0)
			r = tell(in, w, p->child, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int inlines_tell(struct inlines *in, struct gsym_writer *w)
{
	size_t above = 0, above_end = 0, places = 0;
	uint32_t first = 0;
	int r = 0;

	if (!in->n_calls)
		return 0;
	in->n_pieces = in->n_places = 0;
	for (unsigned depth = 0; depth < GSYM_DEPTH_MOST - 1; depth++) {
		r = make_level(in, depth, &above, &above_end);
		if (r < 0 || in->n_places == places)
			break;
		places = in->n_places;
	}
	if (r == 0)
		r = link_places(in, &first);
	return r < 0 ? r : tell(in, w, first, 1);
}

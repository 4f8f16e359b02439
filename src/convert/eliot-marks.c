/* Turns a FUNC and its tree of inlined calls into marks. A mark is the address from which a line applies. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "convert/eliot-private.h"

static void line_range(const struct eliot *x, const struct eliot_line *l, uint64_t *start, uint64_t *end)
{
	*start = MIN(l->addr, x->most);
	*end = *start + MIN(l->size, MIN((uint64_t)UINT32_MAX, x->most - *start));
}

static int compare_covered(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Appends to x->covered the address ranges of the lines of the calls in a branch, sorted by address. */
static int cover(struct eliot *x, const struct branch *b)
{
	size_t first = x->covered.n;

	for (uint32_t c = b->first_child; c != NONE; c = x->branches.at[c].next)
		for (uint32_t l = x->branches.at[c].first_line; l != NONE; l = x->lines.at[l].next) {
			struct covered v = {.order = (uint32_t)(x->covered.n - first)};

			line_range(x, &x->lines.at[l].l, &v.start, &v.end);
			if (MORE(&x->covered) < 0)
				return -ENOMEM;
			x->covered.at[x->covered.n++] = v;
		}
	if (x->covered.n > first)
		qsort(x->covered.at + first, x->covered.n - first, sizeof(*x->covered.at), compare_covered);
	return 0;
}

struct walk {
	uint32_t function;
	size_t calls, calls_end;     /* indices of x->calls: the calls of this function */
	size_t covered, covered_end; /* indices of x->covered: the lines of its calls */
	uint32_t into;
};

/* Marks one line, and sets *reached to the address up to which lines are done. A part of the line that a call
 * covers gets no mark here. The line is recorded as the place of the call, and walk_branch() later marks that
 * part for the call. */
static int walk_line(struct eliot *x, struct walk *w, const struct eliot_line *l, uint64_t *reached)
{
	uint64_t at, end;
	uint32_t place = NONE;
	int r;

	line_range(x, l, &at, &end);
	*reached = at;
	while (w->calls < w->calls_end && x->calls.at[w->calls].addr <= at)
		w->into = x->calls.at[w->calls++].place;
	r = eliot_add_place(x, (struct place){w->function, l->file, l->line, w->into}, &place);
	while (r == 0 && at < end) {
		const struct covered *c =
			w->covered < w->covered_end ? &x->covered.at[w->covered] : NULL;

		if (!c || c->start > at)
			r = eliot_add_mark(x, at, place, HOW_ALWAYS);
		if (r == 0 && c && c->start < end) {
			if (MORE(&x->calls) < 0)
				return -ENOMEM;
			x->calls.at[x->calls.n++] = (struct called){c->start, place};
			at = c->end;
			w->covered++;
		} else {
			at = end;
		}
	}
	*reached = at;
	return r;
}

static int walk_branch(struct eliot *x, uint32_t which, bool inlined, size_t calls, size_t calls_end)
{
	const struct branch b = x->branches.at[which];
	size_t own_calls = x->calls.n, own_covered = x->covered.n;
	struct walk w = {.calls = calls, .calls_end = calls_end, .into = NONE};
	uint32_t place = NONE;
	uint64_t reached = 0;
	int r;

	if (!b.size || b.addr > x->most)
		return 0;
	r = eliot_add_function(x, inlined ? NONE : b.addr, b.name, &w.function);
	if (r == 0)
		r = cover(x, &b);
	w.covered = own_covered;
	w.covered_end = x->covered.n;
	if (calls < calls_end)
		w.into = x->calls.at[w.calls++].place;
	for (uint32_t l = b.first_line; r == 0 && l != NONE;) {
		r = walk_line(x, &w, &x->lines.at[l].l, &reached);
		for (l = x->lines.at[l].next; l != NONE && (x->lines.at[l].l.addr & x->most) < reached;)
			l = x->lines.at[l].next;
	}
	x->covered.n = own_covered;
	if (r == 0 && !inlined)
		r = eliot_add_place(x, (struct place){w.function, 0, 0, NONE}, &place);
	if (r == 0 && !inlined)
		r = eliot_add_mark(x, b.addr, place, HOW_IF_FREE);
	calls_end = x->calls.n;
	for (uint32_t c = b.first_child; r == 0 && c != NONE && calls_end > own_calls;
		c = x->branches.at[c].next)
		r = walk_branch(x, c, true, own_calls, calls_end);
	x->calls.n = own_calls;
	return r < 0 ? r : eliot_add_mark(x, end_of(b.addr, b.size) & x->most, NONE, HOW_END);
}

int eliot_mark_tree(struct eliot *x)
{
	x->calls.n = x->covered.n = 0;
	return walk_branch(x, 0, false, 0, 0);
}

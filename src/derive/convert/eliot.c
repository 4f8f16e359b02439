/* Rewrites Breakpad's records so that look-ups answer as Mozilla's symbolication service (Eliot) does. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "derive/convert/eliot-private.h"

#include <string.h>

/* ---- the tree of a FUNC ---------------------------------------------------------------------- */

/* The branches that are open at an address: the FUNC, then the calls, outermost first. */
struct tree {
	struct eliot *x;
	struct {
		uint32_t branch;
		uint64_t end;
	} open[GSYM_DEPTH_MOST + 1]; /* nest_calls() drops deeper calls */
	unsigned n;
};

static struct branch *innermost(struct tree *t)
{
	return &t->x->branches.at[t->open[t->n - 1].branch];
}

static int push_branch(struct tree *t, uint64_t addr, uint64_t size, uint32_t name)
{
	struct eliot *x = t->x;
	uint32_t at = (uint32_t)x->branches.n;
	struct branch *parent;

	if (ADD(&x->branches, (struct branch){addr, size, name, NONE, NONE, NONE, NONE, NONE}) < 0)
		return -ENOMEM;
	if (t->n) {
		parent = innermost(t);
		*(parent->last_child == NONE ? &parent->first_child
					     : &x->branches.at[parent->last_child].next) = at;
		parent->last_child = at;
	}
	t->open[t->n].branch = at;
	t->open[t->n++].end = end_of(addr, size);
	return 0;
}

static int push_line(struct tree *t, const struct eliot_line *l)
{
	struct eliot *x = t->x;
	uint32_t at = (uint32_t)x->lines.n;
	struct branch *b;

	if (ADD(&x->lines, (struct branch_line){*l, NONE}) < 0)
		return -ENOMEM;
	b = innermost(t);
	*(b->last_line == NONE ? &b->first_line : &x->lines.at[b->last_line].next) = at;
	b->last_line = at;
	return 0;
}

/* Closes the calls that end at or before `addr`. */
static void leave_address(struct tree *t, uint64_t addr)
{
	while (t->n > 1 && t->open[t->n - 1].end <= addr)
		t->n--;
}

/* Adds a call: a line in the branch of the caller, and a branch of its own. */
static int enter_call(struct tree *t, const struct nest_call *c)
{
	struct eliot_line call = {c->addr, c->size, c->call_file, c->call_line, 0};
	int r;

	t->n = MIN(t->n, c->depth + 1);
	r = push_line(t, &call);
	return r < 0 ? r : push_branch(t, c->addr, c->size, c->name);
}

/* Adds a line up to the end of the innermost call or the start of the next call. *rest: the line extends further,
 * and *l is now the part that was not added. */
static int enter_line(struct tree *t, struct eliot_line *l, uint64_t next_call, bool *rest)
{
	uint64_t end = end_of(l->addr, l->size), split = MIN(t->open[t->n - 1].end, next_call);
	struct eliot_line piece = *l;

	*rest = split < end;
	if (*rest) {
		piece.size = split - l->addr;
		l->addr = split;
		l->size = end - split;
	}
	return push_line(t, &piece);
}

/* Lines at one address stay in the order of the file, because only the first line at an address counts. */
static int compare_lines(const void *a, const void *b)
{
	const struct eliot_line *x = a, *y = b;

	return COMPARE(x->addr, y->addr) ?: COMPARE(x->order, y->order);
}

/* Takes lines and calls in order of address; at the same address, calls come first. The first line or call that
 * begins after the end of the function, and all later ones, are dropped. The rest of a split line comes next, even if
 * other lines begin before it.
 * Makes the tree of a FUNC, in x->branches and x->lines, from x->nested and its lines, which
 * it sorts. 0, -ENOMEM. */
static int eliot_grow_tree(struct eliot *x, const struct eliot_func *f)
{
	const struct nest_call *c = x->nested.at, *calls_end = c + x->nested.n;
	struct eliot_line *l = f->lines, *lines_end = l + f->n_lines;
	struct tree t = {.x = x};
	uint64_t end = f->addr + f->size; /* modulo 2^64, as in symbolic */
	int r;

	sort_array(f->lines, f->n_lines, sizeof(*f->lines), compare_lines);
	x->branches.n = x->lines.n = 0;
	r = push_branch(&t, f->addr, f->size, f->name);
	while (r == 0 && (c < calls_end || l < lines_end)) {
		bool call = c < calls_end && (l == lines_end || c->addr <= l->addr), rest = false;
		uint64_t addr = call ? c->addr : l->addr;

		leave_address(&t, addr);
		if (addr >= end)
			break;
		if (call) {
			r = enter_call(&t, c++);
		} else {
			r = enter_line(&t, l, c < calls_end ? c->addr : UINT64_MAX, &rest);
			l += !rest;
		}
	}
	return r;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void line_range(const struct eliot *x, const struct eliot_line *l, uint64_t *start, uint64_t *end)
{
	*start = MIN(l->addr, x->most);
	*end = *start + MIN(l->size, MIN((uint64_t)UINT32_MAX, x->most - *start));
}

static int compare_covered(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	return COMPARE(x->start, y->start) ?: COMPARE(x->order, y->order);
}

/* Appends to x->covered the address ranges of the lines of the calls in a branch, sorted by address. */
static int cover(struct eliot *x, const struct branch *b)
{
	size_t first = x->covered.n;

	for (uint32_t c = b->first_child; c != NONE; c = x->branches.at[c].next)
		for (uint32_t l = x->branches.at[c].first_line; l != NONE; l = x->lines.at[l].next) {
			struct covered v = {.order = (uint32_t)(x->covered.n - first)};

			line_range(x, &x->lines.at[l].l, &v.start, &v.end);
			if (ADD(&x->covered, v) < 0)
				return -ENOMEM;
		}
	sort_array(x->covered.at + first, x->covered.n - first, sizeof(*x->covered.at), compare_covered);
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
			if (ADD(&x->calls, (struct called){c->start, place}) < 0)
				return -ENOMEM;
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

/* Turns that tree into places and marks. 0, -ENOMEM, -EFBIG. */
static int eliot_mark_tree(struct eliot *x)
{
	x->calls.n = x->covered.n = 0;
	return walk_branch(x, 0, false, 0, 0);
}

/* ---- functions ------------------------------------------------------------------------------- */

int eliot_new(struct eliot **out, struct gsym_writer *w, bool marks)
{
	struct eliot *x = calloc(1, sizeof(*x));
	const char mark[] = {MARK};

	if (!x)
		return -ENOMEM;
	x->w = w;
	x->marks_told = marks;
	x->most = marks ? UINT32_MAX : UINT64_MAX;
	if (marks)
		x->no_file = gsym_add_file(w, 0, gsym_text(w, mark, 1));
	*out = x;
	return 0;
}

void eliot_free(struct eliot *x)
{
	if (!x)
		return;
	free(x->functions.at);
	free(x->places.at);
	free(x->marks.at);
	free(x->publics.at);
	free(x->nested.at);
	free(x->branches.at);
	free(x->lines.at);
	free(x->calls.at);
	free(x->covered.at);
	free(x);
}

/* ---- records ------------------------------------------------------------------------ */

int eliot_add(struct eliot *x, const struct eliot_func *f)
{
	int r = nest_calls(f->calls, &x->nested);

	if (r == 0)
		r = eliot_grow_tree(x, f);
	return r < 0 ? r : eliot_mark_tree(x);
}

int eliot_public(struct eliot *x, uint64_t addr, uint32_t name)
{
	return ADD(&x->publics, (struct called){addr & x->most, name});
}

int eliot_finish(struct eliot *x, uint32_t module)
{
	uint32_t function = NONE, place = NONE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->publics.n; i++) {
		r = eliot_add_function(x, x->publics.at[i].addr, x->publics.at[i].place, &function);
		if (r == 0)
			r = eliot_add_place(x, (struct place){function, 0, 0, NONE}, &place);
		if (r == 0)
			r = eliot_add_mark(x, x->publics.at[i].addr, place, HOW_IF_FREE);
	}
	if (r == 0)
		r = eliot_tell(x);
	/* With marks, a file without functions gets the function at ELIOT_NAME_AT even if the program's name is
	 * unknown. This function shows that the symbols were found. */
	if (!x->marks_told || r < 0)
		return r;
	if (!module && !gsym_functions(x->w))
		module = gsym_text(x->w, (const char[]){MARK}, 1);
	if (module) {
		gsym_begin(x->w, ELIOT_NAME_AT, 1, module, GSYM_DEBUG);
		gsym_end(x->w);
	}
	return gsym_error(x->w);
}

/* ---- look-ups ----------------------------------------------------------------------- */

const char *eliot_name(const char *name, int64_t *more)
{
	bool minus;
	char *end;

	*more = 0;
	if (name[0] != MARK)
		return name;
	minus = name[1] == '-';
	*more = (int64_t)(strtoull(name + 1 + minus, &end, 16) & INT64_MAX);
	if (minus)
		*more = -*more;
	return *end == ' ' ? end + 1 : end;
}

bool eliot_file(const char *dir, const char *base)
{
	return dir[0] || (base[0] && base[0] != MARK);
}

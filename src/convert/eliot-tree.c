/* Puts the lines and inlined calls of one FUNC into a tree. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "convert/eliot-private.h"

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

	if (MORE(&x->branches) < 0)
		return -ENOMEM;
	x->branches.at[x->branches.n++] = (struct branch){
		addr, size, name, NONE, NONE, NONE, NONE, NONE};
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

	if (MORE(&x->lines) < 0)
		return -ENOMEM;
	x->lines.at[x->lines.n++] = (struct branch_line){*l, NONE};
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

static int compare_lines(const void *a, const void *b)
{
	const struct eliot_line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Sorts by address. Lines at one address stay in the order of the file, because only the first line at an
 * address counts. */
static void sort_lines(struct eliot_line *l, size_t n)
{
	bool sorted = true;

	for (size_t i = 1; sorted && i < n; i++)
		sorted = l[i - 1].addr <= l[i].addr;
	if (!sorted)
		qsort(l, n, sizeof(*l), compare_lines);
}

/* Takes lines and calls in order of address; at the same address, calls come first. The first line or call that
 * begins after the end of the function, and all later ones, are dropped. The rest of a split line comes next, even if
 * other lines begin before it. */
int eliot_grow_tree(struct eliot *x, const struct eliot_func *f)
{
	const struct nest_call *c = x->nested.at, *calls_end = c + x->nested.n;
	struct eliot_line *l = f->lines, *lines_end = l + f->n_lines;
	struct tree t = {.x = x};
	uint64_t end = f->addr + f->size; /* modulo 2^64, as in symbolic */
	int r;

	sort_lines(f->lines, f->n_lines);
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

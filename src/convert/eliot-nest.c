/* Nests the inlined calls of a FUNC, in symbolic's order. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/eliot-nest.h"
#include "base/grow.h"
#include "base/util.h"
#include "gsym/gsym.h"

#include <stdbool.h>

/* ---- the queue ----------------------------------------------------------------------- */

static bool is_before(const struct nest_call *a, const struct nest_call *b)
{
	return a->addr != b->addr ? a->addr < b->addr : a->depth < b->depth;
}

/* Moves the call at `i` up while it is before its parent. Equal calls stay where they are. */
static void sift_up(struct nest_queue *q, size_t i)
{
	struct nest_call c = q->at[i];

	while (i && is_before(&c, &q->at[(i - 1) / 2])) {
		q->at[i] = q->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->at[i] = c;
}

/* Moves the top call to the bottom without comparing it, then up to its place. Of two equal children the
 * right one moves up. */
static void sift_down_to_bottom(struct nest_queue *q)
{
	struct nest_call c = q->at[0];
	size_t i = 0, child = 1;

	while (child < q->n) {
		if (child + 1 < q->n && !is_before(&q->at[child], &q->at[child + 1]))
			child++;
		q->at[i] = q->at[child];
		i = child;
		child = 2 * i + 1;
	}
	q->at[i] = c;
	sift_up(q, i);
}

int nest_push(struct nest_queue *q, const struct nest_call *c)
{
	if (APPEND(q->at, q->room, q->n, *c) < 0)
		return -ENOMEM;
	sift_up(q, q->n - 1);
	return 0;
}

struct nest_call nest_pop(struct nest_queue *q)
{
	struct nest_call top = q->at[0];

	q->at[0] = q->at[--q->n];
	if (q->n)
		sift_down_to_bottom(q);
	return top;
}

/* ---- nesting ------------------------------------------------------------------------- */

struct nesting {
	struct nest_queue *queue;
	struct nest_list *out;
	uint64_t end[GSYM_DEPTH_MOST]; /* of the last call of each depth */
	unsigned depth;		       /* the number of valid entries in `end` */
};

static int add_nested(struct nesting *t, const struct nest_call *c)
{
	struct nest_list *l = t->out;

	if (APPEND(l->at, l->room, l->n, *c) < 0)
		return -ENOMEM;
	t->end[t->depth++] = c->addr + c->size;
	return 0;
}

static int queue_again(struct nesting *t, struct nest_call c, uint64_t from)
{
	c.size -= from - c.addr;
	c.addr = from;
	return nest_push(t->queue, &c);
}

static int nest_one(struct nesting *t, struct nest_call c)
{
	uint64_t end, caller_end;

	if (__builtin_add_overflow(c.addr, c.size, &end) || c.depth > t->depth ||
		c.depth >= GSYM_DEPTH_MOST)
		return 0;
	if (c.depth < t->depth) {
		if (end <= t->end[c.depth])
			return 0;
		if (c.addr < t->end[c.depth])
			return queue_again(t, c, t->end[c.depth]);
	}
	t->depth = c.depth;
	caller_end = c.depth ? t->end[c.depth - 1] : UINT64_MAX;
	if (c.depth && c.addr >= caller_end)
		return 0;
	if (end > caller_end) {
		if (queue_again(t, c, caller_end) < 0)
			return -ENOMEM;
		c.size = caller_end - c.addr;
	}
	return add_nested(t, &c);
}

int nest_calls(struct nest_queue *q, struct nest_list *out)
{
	struct nesting t;
	uint64_t turns = NEST_TURNS_MOST + 64 * (uint64_t)q->n;
	int r = 0;

	t.queue = q; /* most FUNCs have no calls, and `end` is large */
	t.out = out;
	t.depth = 0;
	for (out->n = 0; r == 0 && q->n; turns--)
		r = turns ? nest_one(&t, nest_pop(q)) : -EFBIG;
	q->n = 0;
	return r;
}

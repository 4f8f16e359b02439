/* Nests the inlined calls of one FUNC, as symbolic does before it looks addresses up. A call lies inside a
 * call that is one less deep, and calls of one depth do not overlap. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* A range of an inlined call. */
struct nest_call {
	uint64_t addr, size;
	uint32_t depth; /* 0: the FUNC itself makes the call */
	uint32_t name, call_file, call_line;
};

/* A binary heap; the call with the lowest address is on top, and of several the one that is least
 * deep. The order of calls with equal address and depth is that of Rust's
 * std::collections::BinaryHeap: it decides which of them covers the other, and symbolic uses that
 * heap. */
struct nest_queue {
	struct nest_call *at;
	size_t n, room;
};

int nest_push(struct nest_queue *q, const struct nest_call *c); /* -ENOMEM */
struct nest_call nest_pop(struct nest_queue *q);		/* not of an empty queue */

struct nest_list {
	struct nest_call *at;
	size_t n, room;
};

/* Empties the queue into `out`, in order of address and then of depth. Calls are shortened, split
 * or dropped:
 * - A call that ends beyond 2^64, or that no call one less deep covers, is dropped.
 * - A call that begins before the last one of its depth has ended begins where that one ends.
 * - A call that ends after its caller is split there; the rest is queued again.
 * Calls may nest GSYM_DEPTH_MOST deep; deeper ones are dropped. -EFBIG: the calls overlap so much
 * that nesting takes more than NEST_TURNS_MOST turns, plus 64 for each call; -ENOMEM. */
#define NEST_TURNS_MOST 1000000
int nest_calls(struct nest_queue *q, struct nest_list *out);

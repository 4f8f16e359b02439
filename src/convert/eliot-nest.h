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

/* A binary heap. The call with the lowest address is on top; at equal addresses, the least deep call. If the
 * depths are equal, too, the order decides which call covers the other. That order is the one of Rust's
 * std::collections::BinaryHeap, which symbolic uses. */
struct nest_queue {
	struct nest_call *at;
	size_t n, room;
};

int nest_push(struct nest_queue *q, const struct nest_call *c); /* 0, -ENOMEM */
struct nest_call nest_pop(struct nest_queue *q);		/* the queue must not be empty */

struct nest_list {
	struct nest_call *at;
	size_t n, room;
};

/* Empties the queue into `out`, in order of address and then of depth. Calls are shortened, split
 * or dropped:
 * - A call that ends beyond 2^64 is dropped, and so is a call whose start no call one less deep covers.
 * - If two calls of one depth overlap, the later one begins where the earlier one ends, or is dropped.
 * - A call that ends after its caller is split at the caller's end, and the rest is queued again.
 * - A call at depth GSYM_DEPTH_MOST or deeper is dropped.
 * 0; -EFBIG: the calls overlap so much that the queue is popped more than NEST_TURNS_MOST times, plus 64 times
 * for each call; -ENOMEM. */
#define NEST_TURNS_MOST 1000000
int nest_calls(struct nest_queue *q, struct nest_list *out);

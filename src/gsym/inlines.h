/* Inlined calls that are told one by one, each with its depth and its ranges and in any order, made
 * into the tree that a writer wants: a call belongs to the one a level above that has its
 * addresses. One that reaches over several of them becomes several. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "gsym/writer.h"

struct inline_call {
	unsigned depth; /* 0: called by the function itself */
	uint32_t name, call_file, call_line;
	size_t ranges; /* the first of its own */
	uint32_t n_ranges;
};

struct inline_range {
	uint64_t start, end;
};

struct inlines {
	struct inline_call *calls;
	size_t n_calls, calls_room;
	struct inline_range *ranges;
	size_t n_ranges, ranges_room;
	/* inlines_tell()'s own */
	struct inline_piece *pieces;
	size_t n_pieces, pieces_room;
	struct inline_place *places;
	size_t n_places, places_room;
};

int inlines_add(struct inlines *in, unsigned depth, uint32_t name, uint32_t call_file,
	uint32_t call_line); /* -ENOMEM */
int inlines_range(struct inlines *in, uint64_t start, uint64_t size); /* of the last added */

/* To the function that the writer has begun. -ENOMEM; -E2BIG: the calls are far from any tree, and
 * the function is left without them. */
int inlines_tell(struct inlines *in, struct gsym_writer *w);
void inlines_clear(struct inlines *in);
void inlines_release(struct inlines *in);

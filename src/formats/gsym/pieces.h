/* The functions of a GSYM writer as pieces that do not overlap, in order of address: for formats in which an address
 * has only one function. A look-up in the pieces finds what gsym_lookup() finds in the file that gsym_write() would
 * write. Only one thread at a time may use a list, and the writer must not change while it exists. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/gsym/writer.h"

#include <stdbool.h>
#include <stdlib.h>

struct entry;

/* All of a function, or the part of it that no other function interrupts. */
struct gsym_piece {
	uint64_t start, end; /* end > start */
	uint32_t name;	     /* for gsym_text_at() */
	enum gsym_rank rank;
	bool shared; /* a function with another name begins at the same address, and was left out or begins later */
	const struct entry *of;
};

struct gsym_pieces {
	const struct gsym_writer *w;
	uint64_t base; /* the address at which the file would be loaded if it is not moved; 0: unknown */
	uint32_t n_files, n_texts; /* one more than the highest number of a file, and of a text */
	struct gsym_piece *at;
	size_t n, room;
};

/* Lists the pieces of all functions. Functions without a name are left out. 0, -ENOMEM. The caller releases `out` in
 * either case. */
int gsym_pieces_new(struct gsym_pieces *out, const struct gsym_writer *w);
static inline void gsym_pieces_release(struct gsym_pieces *p)
{
	free(p->at);
	*p = (struct gsym_pieces){0};
}

struct gsym_piece_row {
	uint64_t addr;
	uint32_t file, line; /* `file`: for gsym_file_parts() */
};

/* An inlined call. */
struct gsym_piece_call {
	unsigned depth; /* 1: the function itself makes the call */
	uint32_t name, call_file, call_line;
	size_t ranges; /* the first of its ranges in gsym_parts */
	uint32_t n_ranges;
};

struct gsym_piece_range {
	uint64_t start, end;
};

/* The rows and inlined calls of one piece, cut at its ends. Reused from piece to piece. */
struct gsym_parts {
	struct gsym_piece_row *rows; /* in order of address */
	size_t n_rows, rows_room;
	struct gsym_piece_call *calls; /* callers come before the calls in them */
	size_t n_calls, calls_room;
	struct gsym_piece_range *ranges;
	size_t n_ranges, ranges_room;
};

/* Replaces the contents of `out`, which is zeroed before its first use. 0, -ENOMEM. */
int gsym_piece_parts(const struct gsym_piece *p, struct gsym_parts *out);
static inline void gsym_parts_release(struct gsym_parts *p)
{
	free(p->rows);
	free(p->calls);
	free(p->ranges);
	*p = (struct gsym_parts){0};
}

/* The directory and the name of a file by its number; "" where it has none. */
void gsym_file_parts(const struct gsym_writer *w, uint32_t file, const char **dir, const char **base);

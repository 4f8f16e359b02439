/* Writes Breakpad's records to a GSYM writer so that look-ups answer as Mozilla's symbolication service
 * (Eliot) does. The service maps an address to the last place that begins at or before it. An
 * address between the end of a FUNC or inlined call and the beginning of the next place has no answer. So
 * the ranges of GSYM's functions never overlap here, and a FUNC that others interrupt becomes several
 * functions.
 *
 * With `marks` the GSYM file is only for the look-ups of src/symb/ and is not served. Its function names
 * and file names then have marks, which eliot_name() and eliot_file() decode. The function at
 * ELIOT_NAME_AT has the program's name. Without `marks` any reader of GSYM can use the file. Such a file
 * cannot express how far behind the start of its FUNC a piece begins. Nor can it express an inlined call
 * whose call site has no file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/gsym/writer.h"

#include <stdbool.h>

struct eliot;

/* ---- nesting -------------------------------------------------------------------------------- */

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

/* ---- records -------------------------------------------------------------------------------- */

/* A line record. */
struct eliot_line {
	uint64_t addr, size;
	uint32_t file, line; /* `file` is the writer's number of the file */
	uint32_t order;	     /* the number of the line in the FUNC */
};

/* A FUNC record. The caller must leave out lines and calls that begin before the FUNC. */
struct eliot_func {
	uint64_t addr, size;
	uint32_t name;
	struct eliot_line *lines; /* eliot_add() sorts and changes them */
	size_t n_lines;
	struct nest_queue *calls; /* eliot_add() empties it */
};

/* Creates *out, which takes records for `w`. `marks`: see above. 0, -ENOMEM. */
int eliot_new(struct eliot **out, struct gsym_writer *w, bool marks);
void eliot_free(struct eliot *x);			  /* NULL is fine */

/* Only look-ups at these addresses will be made: the writer gets no more than they need, and their answers stay the
 * same. `addrs`, sorted, must outlive `x`. Call it before any record is added. */
void eliot_ask(struct eliot *x, const uint32_t *addrs, size_t n);
/* After eliot_ask(): whether the names, lines and calls of a FUNC are needed. False: call eliot_pass() instead of
 * eliot_add(), because only the end of the FUNC matters. */
bool eliot_needs(const struct eliot *x, const struct eliot_func *f);
/* Takes a FUNC that is not needed. Returns as eliot_add(). */
int eliot_pass(struct eliot *x, const struct eliot_func *f);

/* Add a FUNC or a PUBLIC, in the order of the file. PUBLICs rank after all FUNCs, wherever the file has
 * them. 0; -ENOMEM; -EFBIG: there are too many records, or inlined calls overlap too much (nest_calls()). */
int eliot_add(struct eliot *x, const struct eliot_func *f);
int eliot_public(struct eliot *x, uint64_t addr, uint32_t name);
/* Passes all records to the writer. `module`: the writer's number of the program's name; 0: the file does
 * not give the name. 0; -ENOMEM, -EFBIG. */
int eliot_finish(struct eliot *x, uint32_t module);

/* Writes a path to `room`, of at least n + 1 bytes, without `.` and `..`, as the service shows it. Returns
 * its length. */
size_t eliot_path(const char *p, size_t n, char *room);

/* ---- look-ups ----------------------------------------------------------------------- */

/* The address of a pseudo-function that has the name of the program. No module reaches this address. */
#define ELIOT_NAME_AT (1ull << 32)

/* The name of a function. *more: bytes, possibly negative, from the FUNC's start to the start of this
 * piece. Add them to an offset into the piece to get the offset into the FUNC. */
const char *eliot_name(const char *name, int64_t *more);
/* Whether `dir` and `base` name a source file. False: they mark a call whose call site has no file. */
bool eliot_file(const char *dir, const char *base);

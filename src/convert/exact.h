/* Breakpad's records into a writer so that look-ups answer as Mozilla's symbolication service does,
 * which knows one place at a time: an address means the last place that begins at or before it. A
 * FUNC or an inlined call that ends leaves nothing behind it, up to whatever begins next. So ranges of
 * GSYM's functions never overlap here, and a FUNC that others interrupt becomes several of them.
 *
 * With `marks` the file is for look-ups of ours (symb/) and is not served: names and files say more than
 * names, as exact_name() and exact_file() tell, and one function is none (EXACT_NAME_AT). Without, it is a
 * GSYM file for anyone, which has no place for two things: how far behind its FUNC a piece begins, and a call
 * from no file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/nest.h"
#include "gsym/writer.h"

#include <stdbool.h>

struct exact;

/* A line record. */
struct exact_line {
	uint64_t addr, size;
	uint32_t file, line; /* `file` is the writer's number */
	uint32_t order;	     /* its number in the FUNC */
};

/* Lines and calls that begin before the FUNC must have been left out. */
struct exact_func {
	uint64_t addr, size;
	uint32_t name;
	struct exact_line *lines; /* they are sorted and changed */
	size_t n_lines;
	struct nest_queue *calls; /* which is empty afterwards */
};

/* -ENOMEM */
int exact_new(struct exact **out, struct gsym_writer *w, bool marks);
void exact_free(struct exact *x);			  /* NULL is fine */

/* In the order of the file; PUBLICs behind all functions, whatever the file says. -ENOMEM; -EFBIG: inlined
 * calls overlap too much, see nest.h. */
int exact_add(struct exact *x, const struct exact_func *f);
int exact_public(struct exact *x, uint64_t addr, uint32_t name);
/* All of it to the writer. `module`: the writer's number of the text that is the name of the program,
 * 0 when the file tells none. */
int exact_finish(struct exact *x, uint32_t module);

/* A path without `.` and `..`, as the service shows it, in `room` of at least n + 1 bytes. */
size_t exact_path(const char *p, size_t n, char *room);

/* ---- look-ups ----------------------------------------------------------------------- */

/* Where a file has the name of its program as if it was a function; no module reaches so far. */
#define EXACT_NAME_AT (1ull << 32)

/* The name of a function; *more: what is to be added to offsets into it. */
const char *exact_name(const char *name, int64_t *more);
/* Whether a file is one: calls from nowhere have a file, too. */
bool exact_file(const char *dir, const char *base);

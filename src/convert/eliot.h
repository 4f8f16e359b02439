/* Breakpad's records into a writer so that look-ups answer as Mozilla's symbolication service does,
 * which knows one place at a time: an address means the last place that begins at or before it. A
 * FUNC or an inlined call that ends leaves nothing behind it, up to whatever begins next. So ranges of
 * GSYM's functions never overlap here, and a FUNC that others interrupt becomes several of them.
 *
 * With `marks` the file is for the look-ups of symb/ and is not served. Its names and files hold more than
 * names (eliot_name() and eliot_file() take them apart). The function at ELIOT_NAME_AT is the program's name.
 * Without `marks` it is a
 * GSYM file for anyone, which has no place for two things: how far behind its FUNC a piece begins, and a call
 * from no file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/eliot-nest.h"
#include "gsym/writer.h"

#include <stdbool.h>

struct eliot;

/* A line record. */
struct eliot_line {
	uint64_t addr, size;
	uint32_t file, line; /* `file` is the writer's number */
	uint32_t order;	     /* its number in the FUNC */
};

/* Lines and calls that begin before the FUNC must have been left out. */
struct eliot_func {
	uint64_t addr, size;
	uint32_t name;
	struct eliot_line *lines; /* they are sorted and changed */
	size_t n_lines;
	struct nest_queue *calls; /* which is empty afterwards */
};

/* -ENOMEM */
int eliot_new(struct eliot **out, struct gsym_writer *w, bool marks);
void eliot_free(struct eliot *x);			  /* NULL is fine */

/* In the order of the file; PUBLICs behind all functions, whatever the file says. -ENOMEM; -EFBIG: inlined
 * calls overlap too much, see eliot-nest.h. */
int eliot_add(struct eliot *x, const struct eliot_func *f);
int eliot_public(struct eliot *x, uint64_t addr, uint32_t name);
/* All of it to the writer. `module`: the writer's number of the text that is the name of the program,
 * 0 when the file tells none. */
int eliot_finish(struct eliot *x, uint32_t module);

/* A path without `.` and `..`, as the service shows it, in `room` of at least n + 1 bytes. */
size_t eliot_path(const char *p, size_t n, char *room);

/* ---- look-ups ----------------------------------------------------------------------- */

/* Where a file has the name of its program as if it was a function; no module reaches so far. */
#define ELIOT_NAME_AT (1ull << 32)

/* The name of a function; *more: what is to be added to offsets into it. */
const char *eliot_name(const char *name, int64_t *more);
/* Whether a file is one: calls from nowhere have a file, too. */
bool eliot_file(const char *dir, const char *base);

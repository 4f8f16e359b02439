/* What one unit of DWARF told: functions with their names, rows and inlined calls, as a writer wants
 * them, but for the numbers of texts and files, which are the batch's own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "dwarf/dwarf.h"
#include "image/ranges.h"

#define BATCH_NONE UINT32_MAX

struct batch_func {
	uint64_t addr, size;
	uint32_t name;	      /* of batch.names */
	uint32_t owner;	      /* the entry; a function of two ranges is two with one owner */
	uint32_t nodes, end_nodes; /* calls inlined in it are among these */
	uint32_t rows, n_rows;
};

struct batch_node {
	uint32_t owner, name, file, line;
	uint32_t ranges, n_ranges;
	uint16_t depth; /* from 1 */
};

/* The entry that a name is looked up from. `text` is the name, once it was looked up; NULL: the entry has no
 * name. */
struct batch_name {
	const struct dwarf_file *file;
	uint64_t at;
	const char *text;
};

/* Lines that belong to no function of the debug information; only symbols say which functions are there: of
 * assembler, and of what compilers have no entry for. */
struct batch_orphan {
	uint64_t low, high;
	uint32_t rows, n_rows;
};

struct chunk;

struct batch {
	struct batch_func *funcs;
	size_t n_funcs, funcs_room;
	struct batch_node *nodes;
	size_t n_nodes, nodes_room;
	struct dwarf_ranges ranges;
	struct batch_name *names;
	size_t n_names, names_room;
	const char **files;
	size_t n_files, files_room;
	struct dwarf_row *rows; /* `file` is of batch.files; BATCH_NONE: none */
	size_t n_rows, rows_room;
	struct batch_orphan *orphans;
	size_t n_orphans, orphans_room;
	struct chunk *chunks; /* texts that are in no section */
	bool broken;	      /* something in the unit was; what came before is here */
	bool split;	      /* its entries are in another file, which is not there */
};

void batch_release(struct batch *b);
size_t batch_size(const struct batch *b); /* bytes, about */

/* Room for a text of `n` bytes and a NUL; NULL: no memory. It stays as long as the batch. */
char *batch_text(struct batch *b, size_t n);

/* What a thread needs to read one unit after the other. */
struct dwarf_taken {
	size_t sequence;
	uint64_t start, end;
};

struct dwarf_walker {
	struct dwarf_reader reader;
	struct dwarf_lines lines;
	struct dwarf_scopes scopes;
	struct dwarf_ranges ranges;
	struct dwarf_taken *taken; /* what functions took of sequences of rows */
	size_t n_taken, taken_room;
	const struct text_range *text; /* where instructions are; none: anywhere */
	size_t n_text;
	uint32_t *slots; /* of names by where they are found */
	size_t slots_room;
	struct batch *out;
	const struct dwarf_unit *unit;
};

void dwarf_walker_release(struct dwarf_walker *w);

/* All of one unit. 0, also when it is broken, which the batch says; -ENOMEM; -E2BIG: see
 * dwarf_die_ranges(). */
int dwarf_walk(struct dwarf_walker *w, const struct dwarf_unit *u, struct batch *out);

/* The scopes of a unit, for names. */
int dwarf_scan(const struct dwarf_unit *u, struct dwarf_scopes *out);
/* Finds the names that the batch wants. -ENOMEM. */
int dwarf_find_names(struct dwarf_walker *w);

/* The line where a function is declared, and the file's number in its unit's table; false: it is not
 * said, or in another unit. */
bool dwarf_declared(struct dwarf_walker *w, const struct dwarf_die *d, uint64_t *file,
	uint64_t *line);

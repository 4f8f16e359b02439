/* The functions of one DWARF unit with names, rows and inlined calls, in the form that the GSYM writer
 * takes. But a name or a file is an index in an array of the batch, and not a number of the writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/dwarf/dwarf.h"
#include "formats/image/ranges.h"

#define BATCH_NONE UINT32_MAX

struct batch_func {
	uint64_t addr, size;
	uint32_t name;	      /* index in batch.names */
	uint32_t owner;	      /* index of the entry's first function: an entry with two ranges gives two functions */
	uint32_t nodes, end_nodes; /* its inlined calls are among batch.nodes[nodes..end_nodes) */
	uint32_t rows, n_rows;
};

struct batch_node {
	uint32_t owner, name, file, line;
	uint32_t ranges, n_ranges;
	uint16_t depth; /* a call in the function itself has depth 1 */
};

/* The entry from which a name is looked up. `text` is the name after the look-up; NULL: the entry has no
 * name. */
struct batch_name {
	const struct dwarf_file *file;
	uint64_t at;
	const char *text;
};

/* Lines that belong to no function of the debug information: of assembler, and of functions for which
 * compilers write no entry. Only symbols show which functions are there. */
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
	struct dwarf_row *rows; /* `file`: index in batch.files; BATCH_NONE: no file */
	size_t n_rows, rows_room;
	struct batch_orphan *orphans;
	size_t n_orphans, orphans_room;
	struct chunk *chunks; /* texts that are in no section */
	bool broken;	      /* a part of the unit is broken; the batch has what was read before that part */
	bool split;	      /* the unit's entries are in another file, which was not found */
};

void batch_release(struct batch *b);
size_t batch_size(const struct batch *b); /* approximate bytes of memory */

/* Room for a text of `n` bytes and a NUL; NULL: no memory. batch_release() frees it. */
char *batch_text(struct batch *b, size_t n);

/* An address range of a sequence. Its rows were assigned to a function. */
struct dwarf_taken {
	size_t sequence;
	uint64_t start, end;
};

/* The state of a thread that reads one unit after the other. */
struct dwarf_walker {
	struct dwarf_reader reader;
	struct dwarf_lines lines;
	struct dwarf_scopes scopes;
	struct dwarf_ranges ranges;
	struct dwarf_taken *taken; /* ranges whose rows were assigned to functions */
	size_t n_taken, taken_room;
	const struct text_range *text; /* ranges with instructions; n_text 0: unknown, so all addresses count */
	size_t n_text;
	uint32_t *slots; /* hash table of names, by the place of their entry */
	size_t slots_room;
	struct batch *out;
	const struct dwarf_unit *unit;
};

void dwarf_walker_release(struct dwarf_walker *w);

/* Reads one unit into `out`. 0, also if the unit is broken (out->broken); -ENOMEM; -E2BIG: see
 * dwarf_die_ranges(). */
int dwarf_walk(struct dwarf_walker *w, const struct dwarf_unit *u, struct batch *out);

/* Looks up all names of the batch. 0, -ENOMEM. */
int dwarf_find_names(struct dwarf_walker *w);

/* The line of a function's declaration, and the number of its file in the table of the unit. False: they
 * are missing, or in another unit. */
bool dwarf_declared(struct dwarf_walker *w, const struct dwarf_die *d, uint64_t *file,
	uint64_t *line);

/* Converts the functions in DWARF debug information: passes them to a GSYM writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "formats/image/image.h"
#include "formats/gsym/writer.h"

/* Lines that belong to no function of the debug information: see struct batch_orphan. */
struct stray_row {
	uint64_t addr;
	uint32_t file, line; /* `file` is the writer's number of the file */
};

struct stray_lines {
	uint64_t low, high, reach; /* `reach`: the highest `high` of this and earlier entries */
	size_t rows;
	uint32_t n_rows;
};

struct strays {
	struct stray_lines *all;
	size_t n, room;
	struct stray_row *rows;
	size_t n_rows, rows_room;
};

struct gsym_make_opts;

struct dwarf_told {
	size_t functions;
	size_t broken; /* units that are broken, wholly or in part */
	size_t split;  /* units whose entries are in other files, which were not found */
	bool no_alt;   /* the file to which dwz moved entries was not found */
};

/* Passes units to the writer in the order of the file, whatever the number of threads. 0, also without
 * debug information; -EBADMSG: a section is broken; -ENOMEM, -EFBIG, -ENOTSUP; -EAGAIN: `find` of `o`
 * returned it. */
int gsym_from_dwarf(struct gsym_writer *w, const struct image *m, const struct gsym_make_opts *o,
	struct strays *strays, struct dwarf_told *out, struct err *e);

/* dwarf_each_source() for an object file; of `o` only `find` is used. 0, also without debug information; errors as
 * those of gsym_from_dwarf() and dwarf_each_source(); -ENOMSG: not an object file. */
int dwarf_sources(struct span file, const struct gsym_make_opts *o, int (*each)(void *ctx, const char *path),
	void *ctx, struct err *e);

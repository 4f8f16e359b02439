/* Functions that DWARF tells, into a writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "image/image.h"
#include "gsym/writer.h"

/* Lines that belong to no function of the debug information: see struct batch_orphan. */
struct stray_row {
	uint64_t addr;
	uint32_t file, line; /* `file` is the writer's number */
};

struct stray_lines {
	uint64_t low, high, reach; /* `reach`: the highest end of all that begin before or here */
	size_t rows;
	uint32_t n_rows;
};

struct strays {
	struct stray_lines *all;
	size_t n, room;
	struct stray_row *rows;
	size_t n_rows, rows_room;
};

void strays_release(struct strays *s);

struct gsym_make_opts;

struct dwarf_told {
	size_t functions;
	size_t broken; /* units that are, or of which something is */
	size_t split;  /* units whose entries are in other files, which were not found */
	bool no_alt;   /* what dwz took out of several files was not found */
};

/* 0, also when there is no debug information. Units are told in the order of the file, whatever the
 * number of threads. -EBADMSG: a section is broken; -ENOMEM, -EFBIG, -E2BIG. */
int gsym_from_dwarf(struct gsym_writer *w, const struct image *m, const struct gsym_make_opts *o,
	struct strays *strays, struct dwarf_told *out, struct err *e);

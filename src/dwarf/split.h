/* Where a skeleton's entries are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "dwarf/dwarf.h"

/* A file of its own, with one unit that is wanted. dwarf_close() its file when no reader uses it. */
struct dwarf_split {
	struct dwarf_file file;
	const struct dwarf_head *head;
};

/* The unit of a .dwo file that has this id; `bytes` must outlive it. -ENOENT: it is of another
 * build; -EBADMSG, -ENOMEM. */
int dwarf_split_open(struct dwarf_split *s, struct dwarf_reader *r, struct span bytes, uint64_t id);

/* The same out of a package. */
int dwarf_split_of_package(struct dwarf_split *s, struct dwarf_reader *r,
	const struct dwarf_file *package, uint64_t id);

/* Finds the split unit that has the entries of a skeleton. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/dwarf/dwarf.h"

/* A separate file, and the one wanted unit in it. dwarf_close() the file after its last use. */
struct dwarf_split {
	struct dwarf_file file;
	const struct dwarf_head *head;
};

/* Opens the unit with this id in a .dwo file; `bytes` must outlive it. -ENOENT: the file is from another
 * build; -EBADMSG, -ENOMEM. */
int dwarf_split_open(struct dwarf_split *s, struct dwarf_reader *r, struct span bytes, uint64_t id);

/* Opens the unit with this id in a package, which must outlive it. A file without an index is a package of one
 * unit. 0, -ENOENT, -EBADMSG, -ENOMEM. */
int dwarf_split_of_package(struct dwarf_split *s, struct dwarf_reader *r,
	const struct dwarf_file *package, uint64_t id);

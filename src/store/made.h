/* Files that symfs made of a stored file (GSYM, sources out of a Portable PDB, sections of an ELF file): they have
 * its names, lines or texts, so they go with it. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/index/index.h"

#define MADE_MOST 32 /* files that one call finds */

struct made_files {
	struct index_object list[MADE_MOST];
	unsigned n;
};

/* Finds stored files that were made of an object of the index. A caller that removes them calls again until there are
 * none. The caller holds the write lock, and is in a transaction. 0, -errno. */
int made_find(struct index *ix, const struct index_object *o, struct made_files *out);

/* Files that symfs made of a stored file (GSYM): they have its names and lines, so they go with it. For src/store/
 * only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/index/index.h"

#define MADE_MOST 32 /* files that were made of one file */

struct made_files {
	struct index_object list[MADE_MOST];
	unsigned n;
};

/* Finds the stored files that were made of an object of the index. The caller holds the write lock. 0, -errno. */
int made_find(struct index *ix, const struct index_object *o, struct made_files *out);

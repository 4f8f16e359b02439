/* Salvage: reads from a damaged index what no label has: when a blob was used, what is kept, and known
 * misses. For src/store/rebuild.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/index/index.h"

/* Copies what can be read to the new index `ix`. With the write lock, in the transaction that fills that
 * index. */
void index_salvage(struct index *ix, const char *path);

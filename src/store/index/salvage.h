/* What a damaged index still says, and no label does: when a blob was used, what is kept, and what is
 * known missing. For src/store/rebuild.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/index/index.h"

/* With the write lock, and in the transaction that fills the new index; what cannot be read is left out. */
void index_salvage(struct index *ix, const char *path);

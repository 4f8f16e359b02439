/* Rows of files with holes in the index. With the write lock; for this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* Bytes on the disk that the index does not count yet. */
uint64_t sparses_uncommitted(struct store *s, struct index *ix);
/* In a transaction: rows whose file is gone, or is another one, go; the others say what the
 * file takes on the disk. */
int sparses_sweep(struct store *s, struct index *ix);
/* In a transaction: forgets what a key has; `name` (or "") is the file that is to go after
 * the commit. */
int sparse_forget(struct index *ix, const char *canon, char name[static 17]);

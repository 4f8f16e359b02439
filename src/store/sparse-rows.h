/* The index rows of sparse files. The caller holds the write lock. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* Bytes of sparse files on disk that the index does not count yet. */
uint64_t sparses_uncommitted(struct store *s, struct index *ix);
/* Drops rows whose file is gone or was replaced, and updates the other rows with the file's size on disk.
 * The caller has begun a transaction. */
int sparses_sweep(struct store *s, struct index *ix);
/* Drops the row of a key. The caller has begun a transaction. `name` is the file to remove after the
 * commit; "": the key has no file. */
int sparse_forget(struct index *ix, const char *canon, char name[static 17]);

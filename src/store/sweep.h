/* The sweep: compares every file of the store with the index. Unknown files are added to the index or removed;
 * entries without a file are dropped. The caller holds the write lock and a transaction. The sweep reads no
 * bytes of blobs. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

int sweep(struct store *s, struct index *ix);

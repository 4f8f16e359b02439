/* Settling: makes the index and the files of one blob agree again. The caller holds the write lock, and has a
 * transaction open. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "store/handle.h"

/* Settles every intent (index.h). 0, -errno. */
int settle_all(struct store *s, struct index *ix);

/* Writes the label that an object should have to `out`; empty: no key has the object. 0, -errno. */
int settle_label(struct index *ix, const struct index_object *o, struct buf *out);

/* The sweep: compares every file of the store with the index. Unknown files are added to the index or removed;
 * entries without a file are dropped. Reads no bytes of blobs. 0, -errno. */
int sweep(struct store *s, struct index *ix);

/* Opens the index; makes it anew if it is missing or damaged. `damaged`: the caller found that it is damaged; it is
 * then set aside unopened. 0, -errno. The caller has no transaction open. */
int rebuild_open(struct store *s, bool damaged, struct index **out, struct err *e);

/* Makes the files of one blob and what the index says of them agree again. With the write lock, and in a
 * transaction of its caller. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "store/handle.h"

/* Settles one blob. A row without its file is dropped. A file without a row comes back when its label says what it
 * is; otherwise, or with `gone`, the file is removed. A label that differs is written again. */
int settle(struct store *s, struct index *ix, const char *sha256, bool gone);

/* Settles every intent. */
int settle_all(struct store *s, struct index *ix);

/* The label that an object should have. */
int settle_label(struct index *ix, const struct index_object *o, struct buf *out);

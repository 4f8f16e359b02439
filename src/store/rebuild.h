/* Opens the index of a store, and rebuilds it from the labels of the blobs when it is missing
 * or damaged. The caller holds the write lock. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* `damaged`: the caller found that the index is damaged; the index is then set aside unopened. 0, -errno. */
int rebuild_open(struct store *s, bool damaged, struct index **out, struct err *e);

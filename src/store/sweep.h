/* A look at every file of the store: what the index does not know is taken in or taken away, what
 * the index knows and is not there is forgotten. With the write lock, in the caller's transaction; it reads
 * no bytes of blobs. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

int sweep(struct store *s, struct index *ix);

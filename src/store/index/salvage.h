/* Salvage: reads from a damaged index what no label has: the times of use, the times until which artifacts
 * are kept, and the misses. For src/store/session.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/index/index.h"

/* Copies what can be read to the new index `ix`. The caller holds the write lock, and has begun the
 * transaction that fills that index. */
void index_salvage(struct index *ix, const char *path);

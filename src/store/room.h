/* Free space on the store's disk, and the space that min-free keeps free. Any thread; asks the file system.
 * For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

/* The bytes that must be freed before `need` bytes can be written and min_free stays free; 0: none. */
uint64_t room_missing(struct store *s, uint64_t need);
/* Whether `need` bytes can be written and min_free stays free. */
bool room_has(struct store *s, uint64_t need);
/* -ENOSPC; the text says whether the disk is full or min_free is reached. */
int room_refuse(struct store *s, struct err *e);

/* Making room: the least recently used go first, what is kept stays. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/turn.h"

/* In a turn. `except` is the number of an object that stays, 0: none. */
int evict_to_quota(struct turn *t, int64_t except);

/* Evicts until `need` bytes can be written and min_free stays free. Takes a turn. 0, -ENOSPC. */
int evict_make_room(struct store *s, uint64_t need);

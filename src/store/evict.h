/* Free space on the store's disk, of which min-free stays free, and eviction: the least recently used files go first,
 * kept and pinned files stay. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/session.h"

/* room.c: the bytes that must be freed before `need` bytes can be written and min_free stays free; 0: none. */
uint64_t room_missing(struct store *s, uint64_t need);
/* Whether `need` bytes can be written and min_free stays free. Any thread; asks the file system. */
bool room_has(struct store *s, uint64_t need);
/* -ENOSPC; the text says whether the disk is full or min_free is reached. */
int room_refuse(struct store *s, struct err *e);

/* Evicts down to the quota. The caller holds the write lock. `except` is the number of an object that stays;
 * 0: no such object. 0, -errno. */
int evict_to_quota(struct session *ses, int64_t except);

/* Evicts until `need` bytes can be written and min_free stays free. Takes the write lock. 0, -ENOSPC. */
int evict_make_room(struct store *s, uint64_t need);

/* remove.c: removes a batch of files whose hold is over, and leaves tombstones. The caller holds the write lock, and
 * has no transaction open. Only logs an error: the next call tries again. */
void expire_some(struct session *ses);

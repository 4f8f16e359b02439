/* The files in DIR/partial/, drafts while they are filled: how they are named, made, locked and cleaned up.
 * The process that fills one holds a lock (OFD) on it, so that a file that a dead process left behind can
 * be told from one that is being written. For src/store/. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

#define PARTIAL_NAME 32 /* "draft-", 16 hex digits and NUL */

/* A new empty file, locked by this process; its name is in partial/. 0, -errno; -EAGAIN: cleaners of other
 * processes took each of 16 files away. */
int partial_new(int dirfd, char name[static PARTIAL_NAME], int *fd);
/* Removes what dead processes left in partial/. `path` is the store's, for the log. */
void partial_clean(int store, const char *path);
/* How many drafts there are. 0, -errno. */
int partial_count(int dirfd, uint64_t *out);

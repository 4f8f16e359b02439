/* The drafts in DIR/partial/: how they are named, created, locked and cleaned up. The process that fills a draft
 * holds an OFD lock on it. So a draft without a lock was left behind by a dead process. For src/store/
 * only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

#define PARTIAL_NAME 32 /* "draft-", 16 hex digits and NUL */

/* Makes a new empty file in partial/, locked by this process; `name` is its name there. 0, -errno; -EAGAIN:
 * other processes, cleaning up, removed each of 16 files. */
int partial_new(int dirfd, char name[static PARTIAL_NAME], int *fd);
/* Removes the drafts of dead processes. `path` is the path of the store, for the log. */
void partial_clean(int store, const char *path);
/* Counts the drafts. 0, -errno. */
int partial_count(int dirfd, uint64_t *out);

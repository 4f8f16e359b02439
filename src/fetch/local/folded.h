/* Finds paths of directory sources in whatever letter case their names have. An index of a directory's names is kept
 * as long as the directory does not change. Threads that search directories (`lookers` of struct fetch) or list them
 * call folded_paths(), between dir_enter() and dir_leave(). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/beneath.h"

struct fetch;
struct folded; /* the indexes that a fetch keeps, within FOLDED_ALL_MOST names */

/* A directory with more names has no index: only exact and lower-case names are found. */
#define FOLDED_NAMES_MOST 200000
#define FOLDED_ALL_MOST 400000
#define FOLDED_TRIES_MOST 64 /* the most paths that folded_paths() passes to `each` for one path */

int folded_new(struct folded **out); /* 0, -ENOMEM */
void folded_free(struct folded *fo); /* NULL is allowed; no other thread may use it */

/* Calls `each` with every path below the directory that equals `path` if letter case is ignored.
 * All parts of the path but the last must be directories that can be read. Stops when `each` returns
 * anything but -ENOENT, and returns that. -ENOENT: no such path. -ENOMEM. `slot`: the number that dir_enter()
 * returned, so that a large directory that is being read does not count as hung. */
typedef int folded_each(void *ctx, const char *path);
int folded_paths(struct fetch *f, int slot, const struct beneath *b, const char *path, folded_each *each, void *ctx);

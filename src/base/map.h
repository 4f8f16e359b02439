/* Maps a whole file into memory. If the file is truncated meanwhile, the process that maps it ends by
 * SIGBUS. Commands and short-lived workers accept that. A daemon maps only files of its store, which never
 * change. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"

/* 0: `out` has the bytes, until map_release(). -EINVAL: a directory or a pipe (does not wait for the pipe's
 * writer); -errno. The text in `e` has no path. */
int map_file(struct span *out, const char *path, struct err *e);
int map_fd(struct span *out, int fd, struct err *e); /* the descriptor stays the caller's */
/* Lets the kernel drop the pages that were read; the bytes stay readable. */
void map_rest(struct span s);
void map_release(struct span *s);
#define _cleanup_map_ __attribute__((cleanup(map_release)))

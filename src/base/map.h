/* A whole file as bytes in memory. Whoever cuts the file short meanwhile ends the program that maps
 * it (SIGBUS): for commands and for short-lived workers, not for the daemon. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"

/* 0: `out` has the bytes, until map_release(). -errno, and `e` says it without the path. A pipe or
 * a directory is -EINVAL, and not waited for. */
int map_file(struct span *out, const char *path, struct err *e);
int map_fd(struct span *out, int fd, struct err *e); /* the descriptor stays the caller's */
/* What was looked at need not stay in the memory of this process; the bytes are as before. */
void map_rest(struct span s);
void map_release(struct span *s);
#define _cleanup_map_ __attribute__((cleanup(map_release)))

/* Paths and files: joining, making directories, writing a file so that it is whole or absent. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A name that may stand as one component: not empty, `.`, `..`; no `/`, no control character,
 * at most 255 bytes. */
bool path_name_ok(const char *name, size_t n);

const char *path_base(const char *path);	 /* after the last '/' or '\\'; never NULL */
int path_mkdirs(const char *path, mode_t mode);	 /* 0 also when it is there; -errno */
char *path_absolute(const char *path);		 /* from the working directory, no symlink followed;
						    free() it; NULL: out of memory */

/* Opens a regular file for reading. Opens no other file, because open() alone starts some devices, and
 * wakes the writer of a pipe. 0; -EINVAL: not a regular file; -errno. The text in `e` has no path. */
int path_open_file(const char *path, int *fd, uint64_t *size, struct err *e);

/* Writes a file beside, syncs it, renames it over `name` in `dirfd`, syncs the directory. */
int path_write_synced(int dirfd, const char *name, const void *p, size_t n, mode_t mode);

/* The whole of a small file: NUL-terminated, free() it. -EFBIG past `most`. */
int path_read(int dirfd, const char *name, size_t most, char **out, size_t *n);

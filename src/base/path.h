/* Paths and files: joins paths, makes directories, reads files, and writes files atomically. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a name is valid as one component: not empty, not `.` or `..`, no `/`, no control character, at
 * most 255 bytes. */
bool path_name_ok(const char *name, size_t n);

const char *path_base(const char *path);	 /* the part after the last '/' or '\\'; never NULL */
bool path_is_dir(const char *path); /* follows links; false also if the path cannot be looked at */
int path_mkdirs(const char *path, mode_t mode);	 /* 0, also if the directory exists; -errno */
int path_make_parents(const char *path, mode_t mode); /* as path_mkdirs(), for the directory of a file */
/* Removes a directory and all it has. Removes links, not their targets; enters no other file system, such as a mount
 * there. */
void path_remove_tree(const char *path);
char *path_absolute(const char *path);		 /* relative to the working directory; follows no symlink;
						    the caller frees the result; NULL: out of memory */

/* Opens a regular file for reading. Opens no other file, because open() alone starts some devices, and
 * wakes the writer of a pipe. 0; -EINVAL: not a regular file; -errno. The text in `e` has no path. */
int path_open_file(const char *path, int *fd, uint64_t *size, struct err *e);

/* Repeats write() until all `n` bytes are written, also after a signal. 0, -errno. Any thread; blocks as write()
 * does. */
int write_all(int fd, const void *bytes, size_t n);

/* Writes a temporary file, syncs it, renames it to `name` in `dirfd`, and syncs the directory.
 * 0, -errno. */
int path_write_synced(int dirfd, const char *name, const void *p, size_t n, mode_t mode);

/* Calls fill() for a temporary file beside `path`, gives it the mode, and renames it to `path`: no reader sees half a
 * file, and `path` stays as it is if fill() fails. 0, -errno, or the error of fill(). */
int path_replace(const char *path, mode_t mode, int (*fill)(void *ctx, int fd), void *ctx);
int path_fill_buf(void *ctx, int fd); /* fill() for the bytes of a struct buf */

/* Reads a whole small file, NUL-terminated; the caller frees it. -EFBIG: larger than `most`; -EINVAL: a name in a
 * directory is not that of a regular file. Only a path of AT_FDCWD may be a pipe, such as the shell's. */
int path_read(int dirfd, const char *name, size_t most, char **out, size_t *n);

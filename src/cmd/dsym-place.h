/* Puts files for `symfs dsym` where a debugger on macOS wants them: the debug file in a dSYM bundle, and the program
 * beside the bundle. These functions are for one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "fetch/fetch.h"

/* Copies a stored debug file or program into the directory `into`, below a directory of its UUID, with shared blocks
 * where the file system has them. `a` is the artifact, `found` its answer with a blob. A file that is there already
 * with the same size stays. *path: the absolute path of the copy, which the caller frees. 0; -errno, with a text in
 * `e`. (waits for the disk) */
int dsym_place(struct fetch *f, const char *into, const struct artifact *a, const struct fetched *found, char **path,
	struct err *e);

/* Finds the file of an artifact in the mount `mount`. *path as above, inside the mount. 0; -ENOENT: the mount does
 * not have it; other -errno. (waits for the mount) */
int dsym_in_mount(const char *mount, const struct artifact *a, char **path, struct err *e);

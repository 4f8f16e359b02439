/* The mount table of this process (/proc/self/mountinfo). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

struct mount_row {
	int id;			/* as in STATX_MNT_ID of statx(2) */
	char point[4096];	/* unescaped */
	char type[64];		/* "fuse.symfs" */
	char source[1024];
	char options[1024];	/* of the file system: "user_id=0,..." */
};

/* Calls `each` for every mount, in the table's order; stops when it returns non-zero, and
 * returns that. -errno when the table cannot be read. Touches no file system but /proc. */
int mounts_each(int (*each)(void *ctx, const struct mount_row *m), void *ctx);

/* The mount of an open file (O_PATH will do), as the mount table numbers it. -ENOENT: this kernel does not
 * report the number. Never asks the file system itself. */
int mounts_id_of(int fd);

/* -ELOOP: the open file lies in a symfs mount. Else 0. */
int mounts_refuse_symfs(int fd);

/* Opens a subdirectory for reading, without following links. -1: not a directory, or a symfs mount, whose
 * daemon might wait for this process. */
int mounts_open_sub(int dir, const char *name);

/* Landlock: a process gives up access to files that its user could open. Landlock is for a process that stays
 * root: without Landlock, such a process can open all files of root. Needs Linux 5.19: the Landlock of earlier
 * kernels denies all renames between directories. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <fcntl.h>

struct landlock {
	int fd; /* the ruleset; -1: none */
	unsigned long long handled; /* the rights that the ruleset controls: LANDLOCK_ACCESS_FS_… */
};

enum landlock_right {
	LANDLOCK_READ,	/* read files, list directories */
	LANDLOCK_WRITE, /* also write, make, rename and remove files */
	LANDLOCK_LOG,	/* make and write files */
	LANDLOCK_REMOVE, /* remove files */
};

/* Makes a ruleset. 0; -ENOTSUP: this kernel has no Landlock, or a version that is too old; other -errno */
int landlock_new(struct landlock *out);
void landlock_release(struct landlock *l);

/* Keeps the files at and below `path` accessible. Skips a path that does not exist, or that the process
 * cannot reach anyway. landlock_allow_at() reads `path` as openat() does. */
int landlock_allow_at(struct landlock *l, int dir, const char *path, enum landlock_right right);
static inline int landlock_allow(struct landlock *l, const char *path, enum landlock_right right)
{
	return landlock_allow_at(l, AT_FDCWD, path, right);
}

/* Denies the process, and the programs that it starts, access to all other files. Since Linux 6.12, it also
 * denies signals to other processes, and connections to their abstract Unix sockets. Sets no_new_privs. 0,
 * -errno. */
int landlock_apply(const struct landlock *l);

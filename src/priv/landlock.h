/* Landlock: a process gives up access to files that its user could open. It is for a process that stays
 * root, because all of root's files are open to that user. Needs Linux 5.19; with 5.13, renames between
 * directories would fail. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

struct landlock {
	int fd; /* -1: this kernel has no Landlock */
	unsigned long long handled;
};

enum landlock_right {
	LANDLOCK_READ,	/* files, and what directories list */
	LANDLOCK_WRITE, /* also: make, rename and remove */
	LANDLOCK_LOG,	/* files are made and written */
	LANDLOCK_REMOVE, /* files are removed */
};

/* 0; -ENOTSUP: this kernel has no Landlock, or an older one. -errno */
int landlock_new(struct landlock *out);
void landlock_release(struct landlock *l);

/* Keeps the files at and below `path` accessible. Skips a path that does not exist, or that the process
 * cannot reach anyway. */
int landlock_allow(struct landlock *l, const char *path, enum landlock_right right);

/* Closes all other files to the process and to the programs that it starts; since Linux 6.12 also signals
 * to other processes and abstract Unix sockets. Sets no_new_privs. */
int landlock_apply(const struct landlock *l);

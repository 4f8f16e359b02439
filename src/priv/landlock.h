/* Landlock: a process gives up files that its user could open. For a daemon that stays root, which owns the
 * files of root. Linux 5.19; with 5.13 renames between directories would fail. */
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

/* What is at and below `path` stays open to the process. A path that is not there, or that the process
 * cannot reach anyway, is skipped. */
int landlock_allow(struct landlock *l, const char *path, enum landlock_right right);

/* Everything else is closed; since Linux 6.12 also signals to other processes and abstract Unix sockets:
 * for the process and what it starts. Sets no_new_privs. */
int landlock_apply(const struct landlock *l);

/* Opens files of a directory that other users may write to, so that no link in it leads the caller
 * to a file that the link's author could not read. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

/* Which symbolic links below the directory are followed. */
enum beneath_links {
	BENEATH_NONE,	/* no link */
	/* Relative links that stay in the directory, to a file that everyone may read or that belongs to the
	 * author of the links. Links of root and of our own user lead to any file there. */
	BENEATH_INSIDE,
	BENEATH_OWNERS, /* also a way out, if each link on it and the file have the directory's owner */
	BENEATH_ALL	/* every link */
};

struct beneath {
	int base; /* the directory; O_PATH will do */
	enum beneath_links links;
	bool by_hand; /* without openat2(2), as on kernels and in sandboxes that lack it */
};

/* Opens a regular file for reading. 0;
 * -ENOENT: it is not there, or not a regular file, or its links form a circle;
 * -EXDEV: a link leads where it may not;
 * -EPERM: a link inside leads to a file that its author may not read;
 * -ELOOP: it lies in a symfs mount (no name of a file was looked up there) */
int beneath_open(const struct beneath *b, const char *path, int *out);

/* Opens a directory that lies in the base, as an O_PATH descriptor; "" is the base itself. */
int beneath_open_dir(const struct beneath *b, const char *path, int *out);

/* A regular file of an open directory, no link: opened only after fstat() said that it is regular,
 * so that no device or FIFO is opened. -ENOENT: anything else; -ELOOP: a link. */
int beneath_open_name(int dir, const char *name, int *out);

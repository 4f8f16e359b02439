/* Opens files of a directory that other users may write to, and checks the links in it. No link leads the
 * caller to a file that the author of the link could not read, except with BENEATH_ALL. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>

/* Which symbolic links below the directory are followed. */
enum beneath_links {
	BENEATH_NONE,	/* no link */
	/* Relative links that stay in the directory, to a file that everyone may read or that belongs to the
	 * author of the links. A link of root or of this process's user may lead to any file in the directory. */
	BENEATH_INSIDE,
	/* As BENEATH_INSIDE; and links that lead out, if every link on the way and the file belong to the
	 * directory's owner. */
	BENEATH_OWNERS,
	BENEATH_ALL	/* every link */
};

struct beneath {
	int base; /* the directory; O_PATH will do */
	enum beneath_links links;
	bool for_all; /* only a file that everyone may read, in directories below `base` that everyone may search */
	bool by_hand; /* do not call openat2(2), as on kernels and in sandboxes that lack it */
};

/* Opens a regular file for reading. 0;
 * -ENOENT: the file is missing or not a regular file, or the links form a circle;
 * -EXDEV: a link leads to a place that `links` does not allow;
 * -EPERM: a link stays in the directory, but the author of the link may not read the file; or as `for_all` says;
 * -ELOOP: the path leads into a symfs mount; no file name was looked up there */
int beneath_open(const struct beneath *b, const char *path, int *out);

/* Opens a directory that lies in the base, as an O_PATH descriptor; "" is the base itself. */
int beneath_open_dir(const struct beneath *b, const char *path, int *out);

/* Opens a regular file of an open directory. fstat() comes before the open, so that no device or FIFO is
 * opened. 0; -ELOOP: a link; -ENOENT: no such file, or another kind of file. */
int beneath_open_name(int dir, const char *name, int *out);

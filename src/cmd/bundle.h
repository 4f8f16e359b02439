/* The files that a word of the command line names: those in a directory, or in a dSYM bundle, which is a directory
 * NAME.dSYM with the debug files of a program in Contents/Resources/DWARF. These functions are for one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The files that a word of the command line names. If the word names a bundle, these are the bundle's files,
 * sorted by name, at most BUNDLE_MOST. Any other word is the path of the only file. */
#define BUNDLE_MOST 1024
struct bundle {
	char **files;
	unsigned n;
};

/* 0; -ENOENT: the bundle has no file; -ENOMEM; other -errno: the bundle's directory cannot be read. */
int bundle_open(struct bundle *b, const char *word, struct err *e);
void bundle_release(struct bundle *b);
#define _cleanup_bundle_ __attribute__((cleanup(bundle_release)))

/* A file of a walk; or a path that cannot be read, which can be a directory. */
struct walk_file {
	const char *path;
	bool named; /* the word itself, and not a file in the directory */
	int fd;	    /* closed by the walk; -1: it cannot be read */
	int r;	    /* without `fd`: -errno */
	uint64_t size;
	const char *why; /* without `fd`: the text for `r` */
};

/* Calls `each` for the regular file `path`, or for those in the directory `path` and below, sorted by name. A link is
 * followed if it is `path` itself; in a directory it is left out, because links can form loops. Opens no other file:
 * to open some devices has effects. Ends at the first result that is not 0, and returns it; -ENOMEM. */
typedef int walk_each(void *ctx, const struct walk_file *f);
int walk_files(const char *path, walk_each *each, void *ctx);

/* Copies a whole file, whatever the offset of `fd` is. The kernel shares blocks where it can. 0, -errno. */
int files_copy(int fd, int to);

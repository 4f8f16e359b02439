/* dSYM bundles: directories NAME.dSYM with the debug files of a program in Contents/Resources/DWARF.
 * These functions are for one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

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

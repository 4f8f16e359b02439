/* Finds files that hold parts of a program's debug information, apart from the program itself. Looks at the
 * recorded paths, and beside the program. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/make.h"

/* Maps a file. `out` is the part to convert: the whole file, or the slice `arch` of a fat Mach-O file.
 * `arch` may be NULL if the file has one slice. 0; -ENOTSUP: `arch` must name a slice, and `e` lists the slices;
 * other -errno: an error of map_file(). */
int gsym_files_open(struct span *map, struct span *out, const char *path, const char *arch, struct err *e);

struct gsym_files {
	const char *path; /* the file that is converted */
	struct span *maps;
	size_t n, room;
};

/* The callback for gsym_make_opts.find; `ctx` is a struct gsym_files. 0; -ENOENT or other -errno: no such file
 * was found. */
int gsym_files_find(void *ctx, const struct gsym_want *want, struct span *out);
void gsym_files_release(struct gsym_files *f);

/* Prints what of a converted file is left out, and why. */
void gsym_files_report(const char *path, const struct gsym_made *made);
#define _cleanup_gsym_files_ __attribute__((cleanup(gsym_files_release)))

/* Other files that a program's debug information is in, looked for where it says and beside it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/make.h"

/* Maps a file; `out` is what GSYM is made of: all of it, or of a fat Mach-O file the slice of the
 * architecture `arch`, which may be NULL when there is but one. 0; -ENOTSUP: there are others, or it
 * must be said which, and `e` has their names; as map_file(). */
int gsym_files_open(struct span *map, struct span *out, const char *path, const char *arch, struct err *e);

struct gsym_files {
	const char *path; /* of the file that is converted */
	struct span *maps;
	size_t n, room;
};

/* For gsym_make_opts.find; `ctx` is a struct gsym_files. */
int gsym_files_find(void *ctx, const struct gsym_want *want, struct span *out);
void gsym_files_release(struct gsym_files *f);
#define _cleanup_gsym_files_ __attribute__((cleanup(gsym_files_release)))

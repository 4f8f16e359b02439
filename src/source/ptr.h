/* file.ptr: in a symbol store, in place of a file, a line that says where the file is. What it says
 * was written by a server, so it is followed only into directories that the source's configuration
 * names: ptr-map. Pure, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

#define PTR_MOST 4096 /* bytes of such a file */

enum ptr_kind {
	PTR_PATH,    /* "PATH:\\server\share\file", or the path alone */
	PTR_MESSAGE, /* "MSG: for whoever asks": there is no file */
	PTR_NONSENSE /* longer than a path, or no text */
};

/* What stands behind the word goes to `out`. */
enum ptr_kind ptr_parse(const char *text, size_t n, char out[static 1024]);

/* Is it "PREFIX=/DIRECTORY"? */
bool ptr_map_valid(const char *map);

/* The DIRECTORY of such a line. */
const char *ptr_dir(const char *map);

/* Where the source lets such a path lead: the longest prefix counts, in any case, with slashes either
 * way. `rest` is what lies below the directory, without `..`. 0, -ENOMEM; -ENOENT: nowhere;
 * -EINVAL: it would leave the directory. */
int ptr_resolve(const struct source *s, const char *path, char **dir, struct buf *rest);

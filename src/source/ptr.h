/* Parses file.ptr: a file in a symbol store, in place of the real file, with the path of the real file. A
 * server wrote that path, so symfs follows it only into directories that the source's ptr-map names. Any
 * thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

#define PTR_MOST 4096 /* bytes of such a file */

enum ptr_kind {
	PTR_PATH,    /* "PATH:\\server\share\file", or the path alone */
	PTR_MESSAGE, /* "MSG: text for the client": there is no file */
	PTR_NONSENSE /* too long for a path, or not text */
};

/* Parses a file.ptr. `out` gets the path or the message. */
enum ptr_kind ptr_parse(const char *text, size_t n, char out[static 1024]);

/* Whether a value of ptr-map is "PREFIX=/DIRECTORY". */
bool ptr_map_valid(const char *map);

/* The DIRECTORY of a valid value of ptr-map. */
const char *ptr_dir(const char *map);

/* Maps a path from a file.ptr by the source's ptr-map. The longest prefix wins; case and the kind of slash
 * do not matter. `rest` gets the path below the directory, without `..`. The caller frees `*dir`. 0,
 * -ENOMEM; -ENOENT: no prefix matches; -EINVAL: the path would leave the directory, or is the directory. */
int ptr_resolve(const struct source *s, const char *path, char **dir, struct buf *rest);

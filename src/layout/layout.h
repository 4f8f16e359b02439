/* A layout is a table of patterns, each read both ways: artifact -> path and path -> artifact.
 * A new layout is rows in layouts.c and nothing else. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

#define LAYOUT_CANDIDATES 8
#define LAYOUT_PATH_MAX 2048

/* Fields of a pattern stand in braces. Lower-case names print lower-case hex, upper-case names
 * upper-case; file names print as given ({code_file:lower} folds). {code:0-2} and {code:2-} are
 * slices of one value. {path} takes the rest of the path, slashes and all. */
struct layout_row {
	enum filetype type;
	enum object_type object; /* OBJECT_UNKNOWN: of any module */
	const char *pattern;
	unsigned flags;
};

#define ROW_ACCEPTED 1u /* read, never printed: an old or foreign spelling */

struct layout {
	const char *name;   /* the word of configuration: "symstore_index2" */
	const char *folder; /* under the mount: "symstore2" */
	const char *prefix; /* in front of every path in the mount and on most servers, may be
			       left out when read: ".build-id", "buildid", "" */
	const char *help;
	bool two_tier;	    /* the first two characters of the first part stand before it */
	const struct layout_row *rows; /* ends with a NULL pattern */
};

enum layout_what { LAYOUT_NONE = 0, LAYOUT_DIR = 1, LAYOUT_FILE = 2 };

struct layout_hit {
	unsigned what; /* LAYOUT_DIR and LAYOUT_FILE may both be set: who asks cannot tell yet */
	unsigned n;
	struct artifact files[LAYOUT_CANDIDATES]; /* best first */
};

enum casing { CASING_DEFAULT, CASING_LOWER, CASING_UPPER };

const struct layout *layout_at(unsigned i);	    /* NULL past the last */
const struct layout *layout_find(const char *name); /* by name or folder; NULL */

/* Reads a path of the layout (no leading slash; with or without l->prefix). Any letter case.
 * A trailing slash, empty parts, `.` and `..` mean nothing. */
void layout_parse(const struct layout *l, const char *path, struct layout_hit *out);

/* Adds the nth path (0 first) of an artifact, without l->prefix. -ENOENT past the last. */
int layout_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out);

int casing_find(const char *word); /* -EINVAL */

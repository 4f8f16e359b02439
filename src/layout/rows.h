/* The rows of all layouts, compiled: finds the rows that a path can match, reading each of its bytes a few times. Used
 * by layout/ only. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "layout/layout.h"
#include "layout/pattern.h"

#include <stdint.h>

#define ROW_WORDS 5

/* A set of rows, by their number in all layouts. */
struct row_set {
	uint64_t word[ROW_WORDS];
};

#define SPLIT_PARTS (PATTERN_COMPONENTS + 1) /* of a layout's prefix or first tier, and of a pattern */

/* A path, taken apart once for all layouts. */
struct split {
	const char *path;
	size_t length;
	unsigned n; /* components, of which the first SPLIT_PARTS are in `parts` */
	struct part parts[SPLIT_PARTS];
	unsigned names_from; /* from this component on, all are valid names */
	unsigned source;     /* number of the last component `source` that is not the path's last one; 0: none */
	bool never;	     /* a component is a name that symfs never looks up */
};

/* `path` is not empty, and stays in place. Empty components, `.` and `..` are parts of no path. */
void split_path(const char *path, struct split *out);

/* The number of a layout's first row in all layouts. */
unsigned rows_first(const struct layout *l);
const struct pattern *rows_pattern(const struct layout *l, unsigned row);

/* Adds the rows of a layout that are read. */
void rows_add(const struct layout *l, struct row_set *set);
bool rows_has(const struct row_set *set, unsigned row);

/* Keeps in the set the rows of which the path, from component `from` on, can be a beginning or the whole. */
void rows_match(const struct split *s, unsigned from, struct row_set *set);

/* The rows of all layouts, compiled: finds the rows that a path can match, and reads each of its bytes a few times.
 * Used by names/layout/ only. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/layout.h"
#include "names/layout/pattern.h"

#define LAYOUT_ROWS 64
#define RULES_MOST 192

/* What rows have in common that read the same paths as the same artifacts. */
struct rule {
	unsigned number;
	const struct layout_row *row; /* the first of them */
	struct rule *next; /* with the same pattern */
	struct pattern pattern;
};

/* The rules of a layout's rows. */
const struct rule *const *rows_rules(const struct layout *l);

#define SPLIT_PARTS (PATTERN_COMPONENTS + 1) /* of a layout's prefix or first tier, and of a pattern */

enum split_rule {
	RULE_UNLIKE,
	RULE_LIKE, /* the path looks like the whole or a beginning of a path of the rule */
	RULE_GOOD, /* it was read, and is */
	RULE_BAD   /* it was read, and is not */
};

/* A path, split once for all layouts that read it. */
struct split {
	const char *path;
	size_t length;
	unsigned n; /* components, of which the first SPLIT_PARTS are in `parts`; 0: the path is empty or too long */
	struct path_part parts[SPLIT_PARTS];
	unsigned names_from; /* from this component on, all are valid names */
	unsigned source;     /* number of the last component `source` before the path's last component; 0: none */
	unsigned wanted;     /* the layouts that read the path: a bit for each */
	/* of paths that begin at the first component, and of those that begin at the second one: */
	bool matched[2];
	unsigned layouts[2]; /* those with a rule that is not RULE_UNLIKE */
	uint8_t rules[2][RULES_MOST]; /* enum split_rule */
	bool never_known, never; /* split_never() */
};

/* `path` stays in place. `only`: the layout that will read the path; NULL: any of them. */
void split_path(const char *path, const struct layout *only, struct split *out);

/* Sets the rules of the path from component `from` on (0 or 1). False: none of the layout's rules is like it. */
bool split_match(struct split *s, unsigned from, const struct layout *l);

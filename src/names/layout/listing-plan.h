/* Plans how a directory of a layout is listed from an index of keys. For each row of the layout, the
 * directory's path gives some fields of a key and leaves the next component open. Rows with the same open
 * component form a part. A part says which keys to read, and the order in which the index has them. The
 * names are components of the paths that layout_each() prints for a key, so each listed name can be
 * looked up. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/key.h"
#include "names/layout/layout.h"

#define LISTING_PARTS 24
#define LISTING_ROWS 128 /* no layout has more rows */

/* The kinds of parts, in the order of listing: names that are cheap to find come before long lists. */
enum listing_what {
	LISTING_ONE,	/* one name, if any key matches */
	LISTING_DIGITS, /* a name for each value of some digits of the prefix (key_id_prefix()) */
	LISTING_IDS,	/* names, one id prefix after the other */
	LISTING_TIERS,	/* two-tiered layouts: the first characters of file names */
	LISTING_NAMES	/* one name for each file name */
};

/* Which keys a part reads. */
struct listing_range {
	bool classes[KEY_CLASSES];
	bool tiered;		    /* read only names of the tier */
	char tier[MODULE_NAME_MAX]; /* in lower case */
	char name[MODULE_NAME_MAX]; /* in lower case; "": any name, or no name */
	char prefix[KEY_ID_MAX];	    /* the first digits of the id; "": any */
	bool whole;		    /* `prefix` is the whole id, without an age */
};

struct listing_part {
	enum listing_what what;
	bool rows[LISTING_ROWS];
	size_t digits;	    /* LISTING_DIGITS: how many leading digits of the id are known below a listed
			       name: those of range.prefix and those in the name */
	bool one_each;	    /* LISTING_IDS: keys of one prefix and class print the same name */
	bool with_case;	    /* names that differ only in case are different names */
	const char *text;   /* LISTING_ONE: the name if it is fixed text of the pattern (letter case does not
			       matter); NULL: the name depends on the key */
	size_t text_n;
	struct listing_range range;
};

struct listing_plan {
	const struct layout *layout;
	char dir[LAYOUT_PATH_MAX]; /* without the layout's prefix */
	size_t with_case; /* offset in `dir` from which on letter case matters */
	unsigned n;
	struct listing_part parts[LISTING_PARTS];
};

/* `dir` has no leading or trailing slash, and may begin with the layout's prefix. 0, even if nothing can
 * be listed there; -ENOMEM. */
int listing_plan_of(const struct layout *l, const char *dir, struct listing_plan *out);

/* The component of a printed path that is an entry of the directory. NULL: the path is not below the
 * directory. The component ends at a slash (a directory) or at the end of the path (a file). */
const char *listing_component(const struct listing_plan *l, const char *path);

/* Whether the directory can have an entry for the key. */
bool listing_has(const struct listing_plan *l, const struct key *k);

/* Whether a row of the part can print the name. If so, `range` gets the keys to look at. In parts other than
 * LISTING_IDS the row of listing_first_row() stands for all rows. */
bool listing_row_of(const struct listing_plan *l, const struct listing_part *part, unsigned row,
	const char *name, struct listing_range *range);
unsigned listing_first_row(const struct listing_part *part);

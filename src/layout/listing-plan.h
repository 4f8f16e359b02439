/* How a directory of a layout is listed from an index of keys. Each row of the layout binds some of
 * a key by the directory's path, and leaves the next component open; rows that leave the same open
 * make a part. A part says which keys to look at, and in which order the index has them; the names
 * are cut out of what layout_each() prints of a key, so a listing never shows what a look-up does
 * not find. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/key.h"
#include "layout/layout.h"

#define LISTING_PARTS 24
#define LISTING_ROWS 128 /* a layout has no more */

/* In this order: what is cheap to know comes before what is many. */
enum listing_what {
	LISTING_ONE,	/* one name, if there is any key */
	LISTING_DIGITS, /* a name for each value of some digits of the prefix (key_id_prefix()) */
	LISTING_IDS,	/* the names of one prefix after the other */
	LISTING_TIERS,	/* of two-tiered layouts: the first characters of file names */
	LISTING_NAMES	/* one name for each file name */
};

/* Which keys. */
struct listing_range {
	bool classes[KEY_CLASSES];
	bool tiered;
	char tier[MODULE_NAME_MAX]; /* folded */
	char name[MODULE_NAME_MAX]; /* folded; "": any, also none */
	char prefix[KEY_ID_MAX];	    /* its beginning; "": any */
	bool whole;		    /* all of it */
};

struct listing_part {
	enum listing_what what;
	bool rows[LISTING_ROWS];
	size_t digits;	    /* LISTING_DIGITS: so many make one name, those of range.prefix among them */
	bool one_each;	    /* LISTING_IDS: keys of one prefix and class print the same */
	bool with_case;	    /* names that differ in case are two */
	const char *text;   /* LISTING_ONE: the name, in any case, where the pattern says it; or NULL */
	size_t text_n;
	struct listing_range range;
};

struct listing_plan {
	const struct layout *layout;
	char dir[LAYOUT_PATH_MAX]; /* without the layout's prefix */
	size_t with_case; /* from this offset on the path's case counts */
	unsigned n;
	struct listing_part parts[LISTING_PARTS];
};

/* `dir` has no slash in front or behind, and may begin with the layout's prefix. 0, also when
 * nothing can be listed there; -ENOMEM. */
int listing_plan_of(const struct layout *l, const char *dir, struct listing_plan *out);

/* The component of a printed path that stands in the directory; NULL: the path is not below it.
 * It ends at a slash (a directory) or with the path (a file). */
const char *listing_component(const struct listing_plan *l, const char *path);

/* Whether a row of the part may have the name, and if so which keys to ask whether it has. Of parts
 * other than LISTING_IDS any row speaks for all: listing_first_row(). */
bool listing_row_of(const struct listing_plan *l, const struct listing_part *part, unsigned row,
	const char *name, struct listing_range *range);
unsigned listing_first_row(const struct listing_part *part);

/* How a directory of a layout is listed from an index of keys. Each row of the layout binds some of
 * a key by the directory's path, and leaves the next component open; rows that leave the same open
 * make a part. A part says which keys to look at, and in which order the index has them; the names
 * are cut out of what layout_each() prints of a key, so a listing never shows what a look-up does
 * not find. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/key.h"
#include "layout/layout.h"

#define ROSTER_PARTS 24
#define ROSTER_ROWS 128 /* a layout has no more */

/* In this order: what is cheap to know comes before what is many. */
enum roster_what {
	ROSTER_ONE,	/* one name, if there is any key */
	ROSTER_DIGITS, /* a name for each value of some digits of the stem (key_stem()) */
	ROSTER_STEMS,	/* the names of one stem after the other */
	ROSTER_TIERS,	/* of two-tiered layouts: the first characters of file names */
	ROSTER_NAMES	/* one name for each file name */
};

/* Which keys. */
struct roster_range {
	bool classes[KEY_CLASSES];
	bool tiered;
	char tier[MODULE_NAME_MAX]; /* folded */
	char name[MODULE_NAME_MAX]; /* folded; "": any, also none */
	char stem[KEY_ID_MAX];	    /* its beginning; "": any */
	bool whole;		    /* all of it */
};

struct roster_part {
	enum roster_what what;
	bool rows[ROSTER_ROWS];
	size_t digits;	    /* ROSTER_DIGITS: so many make one name, those of range.stem among them */
	bool one_each;	    /* ROSTER_STEMS: keys of one stem and class print the same */
	bool with_case;	    /* names that differ in case are two */
	const char *text;   /* ROSTER_ONE: the name, in any case, where the pattern says it; or NULL */
	size_t text_n;
	struct roster_range range;
};

struct roster {
	const struct layout *layout;
	char dir[LAYOUT_PATH_MAX]; /* without the layout's prefix */
	size_t with_case; /* from this offset on the path's case counts */
	unsigned n;
	struct roster_part parts[ROSTER_PARTS];
};

/* `dir` has no slash in front or behind, and may begin with the layout's prefix. 0, also when
 * nothing can be listed there; -ENOMEM. */
int roster_of(const struct layout *l, const char *dir, struct roster *out);

/* The component of a printed path that stands in the directory; NULL: the path is not below it.
 * It ends at a slash (a directory) or with the path (a file). */
const char *roster_component(const struct roster *l, const char *path);

/* Whether a row of the part may have the name, and if so which keys to ask whether it has. Of parts
 * other than ROSTER_STEMS any row speaks for all: roster_first_row(). */
bool roster_row_of(const struct roster *l, const struct roster_part *part, unsigned row,
	const char *name, struct roster_range *range);
unsigned roster_first_row(const struct roster_part *part);

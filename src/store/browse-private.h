/* The state of a listing call, and what browse-find.c does for browse.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/browse.h"
#include "store/index/index.h"

#define AHEAD 32 /* rows of a class that are read at a time */

/* The next rows of one class. */
struct browse_stream {
	unsigned class;
	bool end;      /* no rows follow the rows in `rows` */
	unsigned n, i; /* the number of rows read, and the index of the next row */
	struct index_row rows[AHEAD];
};

struct browse {
	struct index_view *v;
	const struct listing_plan *l;
	struct browse_entry *out;
	unsigned n, room;
	/* of the current part */
	const struct listing_part *part;
	unsigned nth_part;
	bool named; /* the range has a file name, `name` */
	struct index_name name;
	unsigned streams;
	struct browse_stream *stream; /* one stream for each class of the range */
};

/* ---- printing ----------------------------------------------------------------------- */

/* Prints one key: finds the entries of the directory that lead to the key, by the rows of a part. */
struct browse_print {
	const struct browse *b;
	const struct listing_part *part;
	const struct key *k;
	const char *only; /* only an entry with this name; NULL: any entry */
	unsigned nth; /* entries of this key so far */
	bool any;     /* an entry was printed */
	int (*each)(void *ctx, const struct browse_entry *e, unsigned row, unsigned nth);
	void *ctx;
};

/* Calls `each` with each entry that the key has in the directory. 0, -errno, or the result with which
 * `each` stopped. */
int browse_print_key(struct browse_print *p);
/* The key of a row, with its name in the spelling that listings show. 0, -EUCLEAN. */
int browse_key_of_row(const struct browse *b, const struct index_row *row, struct key *out);

/* ---- whether there is an entry: 1 and the entry, 0, -errno ----------------------------- */

/* Sets `out` to a text that sorts directly after all ids of the range. */
void browse_range_end(const struct listing_range *g, char out[static KEY_ID_MAX + 1]);
/* Finds an entry for the keys of one class whose ids are in the range. If `b` is named, only keys with that
 * name count. */
int browse_first_of_class(struct browse *b, struct browse_print *p, const struct listing_range *g,
	unsigned class, struct browse_entry *out);
/* Finds an entry of the part for the keys of the range, of any class. */
int browse_first_of_range(struct browse *b, const struct listing_part *part, const struct listing_range *g,
	const char *only, struct browse_entry *out);
/* Finds the entry for a file name, in a class where the entry depends on the name alone, not on the id. */
int browse_print_name(struct browse *b, const struct listing_part *part, unsigned class,
	const char *name, const char *only, struct browse_entry *out);
/* Finds an entry of the part for the file names in a first-tier directory. */
int browse_tier_has(struct browse *b, const struct listing_part *part, const char *tier,
	const char *only, struct browse_entry *out);
/* Whether the part has an entry of this name. */
int browse_part_has(struct browse *b, const struct listing_part *part, const char *name);

bool browse_is_full(const struct browse *b);
/* Adds an entry at a place of the current part, unless an earlier part has an entry of that name. 0,
 * -errno. */
int browse_add(struct browse *b, const struct browse_entry *e, uint64_t place);

/* ---- streams ------------------------------------------------------------------------- */

/* A place in one of the orders of the index. */
struct browse_place {
	char text[MODULE_NAME_MAX]; /* an id prefix or a tier */
	int64_t id;
};

/* Opens a stream for each class of the current part, from its beginning. 0, -ENOMEM. */
int browse_streams_begin(struct browse *b);
void browse_streams_end(struct browse *b);
/* The first row after the place, of one stream or of all; NULL: there is no such row. 0, -errno. */
int browse_stream_row(struct browse *b, struct browse_stream *st, const struct browse_place *at,
	const struct index_row **out);
int browse_least_row(struct browse *b, const struct browse_place *at, const struct index_row **out);

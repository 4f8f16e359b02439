/* Listings of what is stored: the entries of a layout's directory, streamed from the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "layout/listing-plan.h"
#include "store/store.h"

/* The lowest bits of an offset say which part of the listing it is in; this one and 0 are left to
 * callers that show further entries. */
#define BROWSE_PART_BITS 5
#define BROWSE_PART_FREE ((1u << BROWSE_PART_BITS) - 1)

struct browse_entry {
	uint64_t offset; /* read on behind it; never 0, below 2^63 */
	bool dir;
	enum filetype type;  /* of a file */
	uint64_t number;     /* of a file: key_number(), by its code id where it has one */
	char name[MODULE_NAME_MAX];
};

/* The entries behind an offset (0: from the start), at most n; each name once, whatever its case. How many;
 * 0: no more; -errno. (reads the disk)
 * An offset stays good when keys come and go. A file that is stored all the time is listed exactly once, unless
 * another key with the same name comes or goes meanwhile. The entry of the offset itself may be gone. */
int store_browse(struct store *s, const struct listing_plan *l, uint64_t after, struct browse_entry *out,
	unsigned n);

/* Whether store_browse() has an entry of this name, in any case. 1, 0, -errno. */
int store_browse_has(struct store *s, const struct listing_plan *l, const char *name);

/* Listings of what is stored: the entries of a layout's directory, streamed from the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/listing-plan.h"
#include "store/store.h"

/* The lowest bits of an offset are the number of the part of the listing. The values 0 and BROWSE_PART_FREE
 * are left to callers, for further entries of their own. */
#define BROWSE_PART_BITS 5
#define BROWSE_PART_FREE ((1u << BROWSE_PART_BITS) - 1)

struct browse_entry {
	uint64_t offset; /* a listing continues after this offset; never 0, below 2^63 */
	bool dir;
	enum filetype type;  /* for a file */
	uint64_t number;     /* for a file: key_number() of its key by code id; without such a key, of its key */
	char name[MODULE_NAME_MAX];
};

/* Lists the entries after an offset (0: from the start), at most n. Names that differ only in case are listed
 * once. Returns the number of entries; 0: no more; -errno. (reads the disk)
 *
 * An offset stays valid when keys are added and removed, even if its own entry is removed. A file that stays
 * stored is listed exactly once, unless another key with the same name is added or removed meanwhile. */
int store_browse(struct store *s, const struct listing_plan *l, uint64_t after, struct browse_entry *out,
	unsigned n);

/* Whether store_browse() has an entry of this name, in any letter case. 1: yes; 0: no; -errno. */
int store_browse_has(struct store *s, const struct listing_plan *l, const char *name);

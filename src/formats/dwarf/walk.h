/* Walks through the entries of a unit. Shared by the files that do so. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/dwarf/batch.h"
#include "formats/dwarf/forms.h"

/* The deepest nesting of entries; real entries are some dozens deep. */
#define WALK_DEEP_MOST 1024

/* The context of the children of an entry. */
struct level {
	uint32_t scope, owner;
	uint16_t depth; /* how many inlined calls are around the children */
	bool dropped;	/* the call was left out, and so are the calls in it */
};

struct walk;

/* Functions that the walk calls for entries that may have code. Each returns 0, or an error that ends the
 * walk. */
struct walk_visit {
	/* Sets *owner to the function's number in the batch; BATCH_NONE: the entry has no code. */
	int (*func)(struct walk *k, const struct dwarf_die *d, uint32_t *owner);
	/* Called after the last child of that function. */
	void (*end_func)(struct walk *k, uint32_t owner);
	/* Sets *dropped: the call was left out, because it has no code or its call site has no file, for example. */
	int (*call)(struct walk *k, const struct dwarf_die *d, const struct level *in, bool *dropped);
};

struct walk {
	struct dwarf_walker *w;
	const struct dwarf_unit *u;
	struct dwarf_scopes *scopes;
	const struct walk_visit *visit; /* NULL: only scopes are wanted */
	struct batch *out;
	const uint8_t *start, *p, *end;
	bool is_c;
	unsigned n;
	struct level levels[WALK_DEEP_MOST];
};

/* Makes a walk, which only records scopes until the caller sets its `visit`. free() it; NULL: no memory. */
struct walk *walk_new(const struct dwarf_unit *u, struct dwarf_scopes *scopes);
/* Walks through all entries. 0; -EBADMSG: an entry is broken, and later ones are not read; -ENOMEM, or an
 * error of the visitor. */
int walk_entries(struct walk *k);

/* The batch's number of the name of the entry at `at`; the same entry has the same number. 0,
 * -ENOMEM. */
int batch_name_number(struct dwarf_walker *w, const struct dwarf_file *f, uint64_t at, uint32_t *out);
/* The batch's number of file `i` of the unit's table; BATCH_NONE: the table has no such file. 0,
 * -ENOMEM. */
int walk_file_number(struct walk *k, uint64_t i, uint32_t *out);

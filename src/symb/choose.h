/* Finds the best file of a module for a purpose, by fetching every candidate. For threads that may block. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/best.h"

#include <stdatomic.h>
#include <stddef.h>

struct blob;
struct fetch;

enum best_verdict {
	BEST_CHOSEN,
	BEST_AFTER, /* the file has what the purpose needs, but another candidate is better */
	BEST_LACKS, /* the file exists, but lacks what the purpose needs */
	BEST_MISSING,
	BEST_FAILED, /* the file could not be fetched or is corrupt */
	BEST_NAMELESS /* too little is known about the module to request it */
};

struct best_candidate {
	enum filetype type;
	enum best_verdict verdict;
	int error;	   /* -errno with BEST_FAILED; otherwise 0 */
	struct worth worth; /* what the file contains, if it was found */
	char why[320];	   /* the reason of the verdict, for people; never empty */
	struct blob *blob; /* a reference to the file; NULL: the file was not found */
};

struct best_choice {
	enum object_type object;
	unsigned bits; /* of the program; 0: unknown, taken as 64 */
	unsigned n;    /* 0: no file of such a module serves the purpose */
	int chosen;    /* index of the chosen candidate; -1: no candidate can be chosen */
	struct best_candidate all[BEST_CHOICES];
};

/* Returns the platform of a module: m->object, or else a guess from the ids and names. OBJECT_UNKNOWN: ids and
 * names do not show the platform. */
enum object_type best_object(const struct module *m);

/* Whether a module for Windows has no debug id. Its program has the identifiers of its debug file. */
bool best_wants_ids(const struct module *m);
/* Takes from the program's own module the debug id, name, checksum and platform of its debug file. */
void best_take_ids(struct module *m, const struct module *program);

/* Fetches all candidates at once and waits for them. `bits` 0: takes the width of the PE program if
 * the program is found. 0; -EINTR: `*stop` became true (`stop` may be NULL); -ENOMEM. Call best_release() even
 * after an error. */
int best_choose(struct fetch *f, const struct module *m, enum best_purpose p, unsigned bits,
	const atomic_bool *stop, struct best_choice *out);
void best_release(struct best_choice *c);

const char *best_verdict_name(enum best_verdict v); /* "chosen" "not needed" "lacks it" ... */

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
	BEST_AFTER, /* it has the feature, but another candidate is better */
	BEST_LACKS, /* it exists, but lacks the feature */
	BEST_MISSING,
	BEST_FAILED, /* no source could be asked for it, or it is corrupt */
	BEST_NAMELESS /* too little is known about the module to request it */
};

struct best_candidate {
	enum filetype type;
	enum best_verdict verdict;
	int error;	   /* with BEST_FAILED */
	struct worth worth; /* of the file, if there is one */
	char why[200];	   /* the reason of the verdict, for people; never empty */
	struct blob *blob; /* the file, a reference; NULL: none was found */
};

struct best_choice {
	enum object_type object;
	unsigned bits; /* 0: unknown, and no choice depends on it */
	unsigned n;    /* 0: no file of such a module serves the purpose */
	int chosen;    /* an index; -1: no candidate */
	struct best_candidate all[BEST_CHOICES];
};

/* The platform of a module; if m->object does not say it, guessed from the ids and names. Or
 * OBJECT_UNKNOWN. */
enum object_type best_object(const struct module *m);

/* Fetches all candidates at once and waits for them. `bits` 0: read from the program, if it is found. 0;
 * -EINTR: `*stop` became true (may be NULL); -ENOMEM. Call best_release() even after an error. */
int best_choose(struct fetch *f, const struct module *m, enum best_purpose p, unsigned bits,
	const atomic_bool *stop, struct best_choice *out);
void best_release(struct best_choice *c);

const char *best_verdict_name(enum best_verdict v); /* "chosen" "not needed" "lacks it" ... */

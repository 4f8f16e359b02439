/* The best file of a module for a purpose, by asking for all that there may be. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/best.h"

#include <stdatomic.h>
#include <stddef.h>

struct blob;
struct fetch;

enum best_verdict {
	BEST_CHOSEN,
	BEST_AFTER, /* it would do, but one before it is better */
	BEST_LACKS, /* it is there, and has not what is wanted */
	BEST_MISSING,
	BEST_FAILED, /* it could not be asked for, or is broken */
	BEST_NAMELESS /* what is known of the module is not enough to ask for it */
};

struct best_candidate {
	enum filetype type;
	enum best_verdict verdict;
	int error;	   /* with BEST_FAILED */
	char why[200];	   /* words, never empty */
	struct blob *blob; /* where there is one */
};

struct best_choice {
	enum object_type object;
	unsigned bits; /* 0: not known, and nothing depends on it */
	unsigned n;    /* 0: nothing of such a module serves the purpose */
	int chosen;    /* -1: none */
	struct best_candidate all[BEST_CHOICES];
};

/* The platform of a module that does not say it, by its identifiers and names; OBJECT_UNKNOWN. */
enum object_type best_object(const struct module *m);

/* Asks for all candidates at once and waits for them. `bits` 0: as the program says, when it is there.
 * 0; -EINTR: `stop`, which may be NULL; -ENOMEM. best_release() also after an error. */
int best_choose(struct fetch *f, const struct module *m, enum best_purpose p, unsigned bits,
	const atomic_bool *stop, struct best_choice *out);
void best_release(struct best_choice *c);

const char *best_verdict_name(enum best_verdict v); /* "chosen" "not needed" "lacks it" ... */

/* Names the best file types of a module for a purpose (symbols, debug information, unwinding), as Sentry's
 * Symbolicator chooses them. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/module.h"
#include "names/id/worth.h"

#include <stdbool.h>

enum best_purpose { BEST_SYMTAB, BEST_DEBUG, BEST_UNWIND, BEST_PURPOSES };

#define BEST_CHOICES 3

struct best_row {
	enum best_purpose purpose;
	enum object_type object;
	unsigned bits; /* 32 or 64: the row is only for programs of that width; 0: for all programs */
	enum filetype choice[BEST_CHOICES]; /* best first; a shorter list ends with FILETYPE_NONE */
};
extern const struct best_row best_rows[]; /* ends with OBJECT_UNKNOWN */

/* The row of a purpose and platform; NULL: no file of such a module serves the purpose. `bits` 0 means
 * 64. */
const struct best_row *best_row(enum best_purpose p, enum object_type o, unsigned bits);

const char *best_purpose_name(enum best_purpose p); /* "symtab" "debug" "unwind" */
int best_purpose_find(const char *name);	     /* the purpose; -EINVAL: unknown name */
unsigned best_grade(enum best_purpose p, const struct worth *w); /* how well a file with these contents
									      serves the purpose; 0: not at all */

/* The text of a Breakpad file as a stack walk uses it: unwind rules (STACK CFI, STACK WIN), and whether an address is
 * in a function. The file stays where it is: an index has the place of each record, and rules are read when they are
 * needed. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYM_RULES 64		 /* registers of a rule */
#define SYM_RULES_TEXT (16u << 10) /* bytes of the rules at an address */

struct sym;

/* Reads the index. The view's file must stay open. `*budget` bytes are available for it, and are reduced after
 * success. 0; -EFBIG: the index needs more; -ENOMEM; -errno of reading. A line that cannot be read is left out. */
int sym_open(struct sym **out, const struct view *v, size_t *budget);
void sym_free(struct sym *s); /* NULL is fine */

/* The rules at an address, one for each register: ".cfa", ".ra", "$rbx". */
struct sym_rules {
	char text[SYM_RULES_TEXT];
	size_t used;
	struct sym_rule {
		uint32_t name, name_n, value, value_n; /* in `text` */
		uint32_t room;			       /* bytes at `value` */
	} rule[SYM_RULES];
	unsigned n;
};
/* Addresses are relative to where the module is loaded. 1; 0: no rules, or they are malformed; -ENOMEM. */
int sym_rules(struct sym *s, uint64_t address, struct sym_rules *out);
/* Reads rules into `out`, in place of rules of the same names. False: malformed, or too many. */
bool sym_rules_add(struct sym_rules *out, const char *p, size_t n);

/* A STACK WIN record. */
#define SYM_WIN_TEXT 2048
struct sym_win {
	bool fpo; /* type 0; otherwise type 4, frame data */
	uint32_t params, saved, locals;
	bool allocates_bp;	    /* without a program */
	char program[SYM_WIN_TEXT]; /* ""; no program */
};
int sym_win(struct sym *s, uint64_t address, struct sym_win *out); /* 1; 0: the address has none; -ENOMEM */

/* Whether a FUNC record or a PUBLIC record names the address. */
bool sym_names(const struct sym *s, uint64_t address);
/* The bytes of parameters on the stack of the function at the address. False: unknown. */
bool sym_params(const struct sym *s, uint64_t address, uint32_t *out);

/* Translates expressions of DWARF into the postfix expressions of STACK CFI records. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/unwind/rules.h"

#define UNWIND_TEXT_MOST 512 /* the longest translation, with its NUL */

/* Writes the translation of a rule's expression, without the access to memory of UNWIND_EXPR_AT. `cfa`: the CFA is
 * on the stack at the start, as in the rule of a register. Returns the length, or -1 if the expression needs what the
 * records do not have: bit operations, comparisons, jumps, parts of a word, more than UNWIND_TEXT_MOST bytes. */
int unwind_expr(const struct unwind_arch *a, const struct unwind_rule *r, bool big, bool cfa,
	char out[static UNWIND_TEXT_MOST]);

/* The CFA in a procedure linkage table: register + off, and `more` bytes more where the last four bits of the address
 * are at least `from`. */
struct unwind_plt {
	unsigned reg, from;
	int64_t off, more;
};
/* Whether the rule of a CFA is that expression, in the form that linkers write. */
bool unwind_plt(const struct unwind_arch *a, const struct unwind_rule *cfa, struct unwind_plt *out);

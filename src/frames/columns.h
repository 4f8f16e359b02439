/* Finds the registers that call frame instructions mention, and where their rules change, so that libdwarf is asked
 * for nothing else. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

#include <stdbool.h>

struct columns {
	uint64_t low;  /* a bit for each register below 64 that has a rule */
	unsigned most; /* the highest register that has a rule, or CFA is made of */
	bool unsure;   /* an instruction is unknown or cut short: any register may have a rule */
};

/* The addresses at which rules of registers may change; a row at another address differs in its CFA alone. */
#define CHANGES_MOST 512
struct changes {
	uint64_t at[CHANGES_MOST]; /* ascending */
	unsigned n;
	bool all; /* there are too many: any row may change them */
};

/* Adds what these instructions mention. */
void columns_add(struct columns *c, struct span instructions);
/* The same for the instructions of a function that starts at `start`; `unit` is what addresses are counted in. */
void columns_changes(struct columns *c, struct span instructions, uint64_t start, uint64_t unit, bool big,
	struct changes *out);

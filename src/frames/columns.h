/* Finds the registers that call frame instructions mention, so that libdwarf is asked for no others. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

#include <stdbool.h>

struct columns {
	uint64_t low;  /* a bit for each register below 64 that has a rule */
	unsigned most; /* the highest register that has a rule, or CFA is made of */
	bool unsure;   /* an instruction is unknown or cut short: any register may have a rule */
};

/* Adds what these instructions mention. */
void columns_add(struct columns *c, struct span instructions);

/* Decides whether a file that could be filled by byte ranges is streamed from front to back instead, because all
 * of it comes in less time than its readers would wait for ranges. Pure; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/filetype.h"

#include <stdbool.h>
#include <stdint.h>

struct whole {
	uint64_t size, present; /* bytes of the file, and those that are here */
	double round_us;	/* what a request costs before its first byte comes, in microseconds */
	double rate;		/* bytes in a second */
	bool walked;		/* a debugger reads debug information in it; else a program's headers and code */
	unsigned heads;		/* of its units, if a debugger may read each of them; 0: unknown */
	unsigned rounds;	/* how often readers have waited for a range of it so far */
	bool streams;		/* a stream of it is under way; else it takes one more request */
};

/* How many ranges, one after the other, the readers of such a file wait for. */
double whole_rounds(const struct whole *w);

bool whole_is_faster(const struct whole *w);

/* Decides whether a file that could be filled by byte ranges is streamed from front to back instead. It is if the
 * whole file takes less time than its readers would wait for ranges. Pure; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/filetype.h"

#include <stdbool.h>
#include <stdint.h>

struct whole {
	uint64_t size, present; /* bytes of the file, and how many of them are present */
	double round_us;	/* time from a request to its first byte, in microseconds */
	double rate;		/* bytes per second */
	bool walked;		/* a debugger reads its debug information; false: only a program's headers and code */
	unsigned heads;		/* number of unit heads, if a debugger may read each of them; 0: unknown */
	unsigned rounds;	/* how often readers have waited for a range of the file so far */
	bool streams;		/* the file is being streamed; false: streaming takes one more request */
};

/* How many ranges, one after the other, the readers of such a file wait for. */
double whole_rounds(const struct whole *w);

/* Whether the rest of the file takes less time as one stream than by ranges. */
bool whole_is_faster(const struct whole *w);

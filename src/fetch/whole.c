/* Compares the time of a whole file with the time of the ranges that its readers would wait for. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/whole.h"
#include "base/util.h"
#include "fetch/ahead.h"

/* By experience (tests/bench/sparse.sh): eu-addr2line and gdb wait 6 times for one address in an indexed ELF file of
 * 1 MiB, and 10, 13, 16, 21 times in files that are each four times as large as the one before. llvm-symbolizer
 * waits 7, 12 and 13 times for a PDB of 3, 11 and 30 MB, and 2 or 3 times for its program. Where units are listed, a
 * debugger may hop over all of them, AHEAD_BATCH at a time. */
#define ROUNDS_AT_MIB 6.0
#define ROUNDS_DOUBLING 1.5
#define ROUNDS_PROGRAM 2.0
#define ROUNDS_LEAST 3.0
/* A reader that has waited whole_rounds() times may wait this many times more. */
#define ROUNDS_LEFT 2.0
/* A reader that waited more than ODD * whole_rounds() times is expected to wait as often again as it has. */
#define ODD 2.0
#define BYTES_MOST (768u << 10) /* the most bytes that readers by ranges need, read-ahead included */
#define IN_FLIGHT (512u << 10)	/* bytes of a stream that are sent before it can be ended */

double whole_rounds(const struct whole *w)
{
	double rounds = ROUNDS_AT_MIB + (double)(w->heads / AHEAD_BATCH), at = 1 << 20, size = (double)w->size;

	if (!w->walked)
		return ROUNDS_PROGRAM;
	for (; at < size; at *= 2)
		rounds += ROUNDS_DOUBLING;
	for (; at >= 2 * size && rounds > ROUNDS_LEAST; at /= 2)
		rounds -= ROUNDS_DOUBLING;
	return MAX(rounds, ROUNDS_LEAST);
}

/* Returns how many ranges readers will still wait for. */
static double rounds_left(const struct whole *w)
{
	double all = whole_rounds(w), waited = w->rounds;

	if (waited > ODD * all)
		return waited;
	return MAX(all - waited, w->walked ? ROUNDS_LEFT : 1);
}

bool whole_is_faster(const struct whole *w)
{
	double missing = (double)(w->size - MIN(w->present, w->size));
	/* Ending a stream closes its connection, and a new connection takes at least a round trip. */
	double whole_us = missing * 1e6 / w->rate + (w->streams ? -w->round_us : w->round_us);
	double ranges_us = MIN(missing / 2, BYTES_MOST) * 1e6 / w->rate + rounds_left(w) * w->round_us;

	return (w->streams && missing <= IN_FLIGHT) || whole_us <= ranges_us;
}

/* Fuzzes read-ahead with any reads of a file with any tables and unit heads. The range to fetch
 * lies in the file, contains what a reader waits for, and does not exceed the bounds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/ahead.h"
#include "fuzz/fuzz-obj.h"

#define HEADS 64
#define WINDOW_MOST (8u << 20)

struct input {
	const uint8_t *p;
	size_t n;
};

/* Three bytes; 0 behind the end. In units of 16, so that more than a block is reached. */
static uint64_t take_number(struct input *in)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 3 && in->n; i++, in->n--)
		v = v << 8 | *in->p++;
	return v * 16;
}

static void look_at_pieces(const struct ahead *a, uint64_t off, uint64_t end)
{
	struct ahead_span s[AHEAD_BATCH];
	unsigned n;
	struct ahead copy = *a; /* its heads are only read */

	n = ahead_hop(&copy, off, end, s);
	fuzz_must(n <= AHEAD_BATCH, "too many");
	for (unsigned i = 0; i < n; i++) {
		fuzz_must(s[i].off < s[i].end && s[i].end <= a->size, "outside of the file");
		fuzz_must(s[i].off % AHEAD_PAGE == 0, "no page");
		fuzz_must(!i || s[i].off > s[i - 1].end, "out of order");
	}
	fuzz_must(!n || (s[0].off < end && s[0].end > off), "not what was wanted");
	fuzz_must(copy.next_head <= a->n_heads, "a head that is none");
}

FUZZ_TARGET("ahead", p, n)
{
	struct input in = {p, n};
	uint64_t heads[HEADS];
	struct ahead_span room[AHEAD_BATCH];
	struct ahead a = {0};

	ahead_reset(&a, take_number(&in) + 1);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t off = take_number(&in);

		ahead_table(&a, off, take_number(&in));
	}
	for (unsigned i = 0; i < HEADS; i++)
		heads[i] = take_number(&in) * (i % 7 == 3 ? UINT64_MAX / 5 : 1);
	if (ahead_heads(&a, heads, HEADS) < 0)
		return 0;
	while (in.n) {
		uint64_t off = take_number(&in) % a.size, end = off + 1 + take_number(&in) % 65536, from, to;

		end = MIN(end, a.size);
		look_at_pieces(&a, off, end);
		ahead_hop(&a, off, end, room);
		for (unsigned i = 0; i < AHEAD_RUNS; i++)
			if (ahead_go_on(&a, i, &from, &to))
				fuzz_must(from < to && to <= a.size && to - from <= WINDOW_MOST, "an odd window");
		to = ahead_window(&a, off, end);
		fuzz_must(to >= end && to <= a.size, "less than was asked for, or more than there is");
		fuzz_must(to - off <= MAX(end - off, (uint64_t)WINDOW_MOST), "too far");
	}
	ahead_reset(&a, 0);
	return 0;
}

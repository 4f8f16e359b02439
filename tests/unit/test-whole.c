/* Tests fetch/flight/whole.h: whether a file is streamed or filled by ranges, as a table over sizes and speeds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/whole.h"
#include "base/util.h"
#include "unit.h"

#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define FIRST (256 * KIB)

/* The largest file, of the sizes of tests/bench/sparse.sh, that is streamed when its first bytes came. */
static uint64_t largest(double round_ms, double mb, bool walked)
{
	uint64_t most = 0;

	for (uint64_t size = 64 * KIB; size <= 1024 * MIB; size *= 4) {
		struct whole w = {.size = size, .present = MIN(FIRST, size), .round_us = round_ms * 1e3,
			.rate = mb * 1e6, .walked = walked, .rounds = 1, .streams = true};

		if (whole_is_faster(&w)) {
			ck_assert_msg(most * 4 >= size || size == 64 * KIB, "no gap at %llu",
				(unsigned long long)size);
			most = size;
		}
	}
	return most;
}

START_TEST(by_size_and_speed)
{
	static const struct {
		double round_ms, mb;
		bool walked;
		uint64_t most;
	} rows[] = {
		{5, 5, true, 256 * KIB}, {5, 50, true, 1 * MIB}, {5, 500, true, 16 * MIB},
		{20, 5, true, 1 * MIB}, {20, 50, true, 4 * MIB}, {20, 500, true, 64 * MIB},
		{100, 5, true, 4 * MIB}, {100, 50, true, 64 * MIB}, {100, 500, true, 256 * MIB},
		{20, 50, false, 1 * MIB}, {100, 50, false, 4 * MIB}, {100, 500, false, 64 * MIB},
		{0.2, 1000, true, 1 * MIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(largest(rows[i].round_ms, rows[i].mb, rows[i].walked) == rows[i].most, "row %zu: %llu",
			i, (unsigned long long)largest(rows[i].round_ms, rows[i].mb, rows[i].walked));
}
END_TEST

/* A choice that was made for ranges is revised when it is known that the host is fast, or when most is here. */
START_TEST(revised)
{
	struct whole w = {.size = 64 * MIB, .present = FIRST, .round_us = 20e3, .rate = 50e6, .walked = true,
		.rounds = 3};

	ck_assert(!whole_is_faster(&w));
	w.rate = 500e6;
	ck_assert(whole_is_faster(&w));
	w.rate = 50e6;
	w.present = 60 * MIB;
	ck_assert(whole_is_faster(&w));
	w.present = w.size;
	ck_assert(whole_is_faster(&w));
	w.present = w.size + 1; /* it is not so, but must not overflow */
	ck_assert(whole_is_faster(&w));
}
END_TEST

START_TEST(rounds)
{
	struct whole w = {.size = MIB, .walked = true, .round_us = 20e3, .rate = 50e6};
	double last = 0;

	for (uint64_t size = 0; size <= 1ull << 40; size = size ? size * 2 : 1) {
		w.size = size;
		ck_assert(whole_rounds(&w) >= last);
		last = whole_rounds(&w);
		ck_assert(last >= 3 && last <= 40);
	}
	w.heads = 12800;
	ck_assert(whole_rounds(&w) >= last + 100);
	w.walked = false;
	ck_assert(whole_rounds(&w) <= 3);
	/* A reader that has waited far more often than others is expected to go on; one that has nearly all, not. */
	w = (struct whole){.size = 64 * MIB, .walked = true, .round_us = 20e3, .rate = 50e6, .rounds = 20};
	ck_assert(!whole_is_faster(&w));
	w.rounds = 100;
	ck_assert(whole_is_faster(&w));
}
END_TEST

UNIT_MAIN("whole", by_size_and_speed, revised, rounds)

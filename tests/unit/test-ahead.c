/* Tests fetch/flight/ahead.h: windows that grow with demand, tables that are read to their end, and unit
 * heads that are fetched before a reader hops to them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/flight/ahead.h"
#include "base/util.h"
#include "unit.h"

#define BLOCK 65536u
#define MIB (1u << 20)
#define SIZE (128u * MIB)

/* Reads from `from` to `to` a block at a time; how many requests it takes, and *bytes of them. */
static unsigned read_on(struct ahead *a, uint64_t from, uint64_t to, uint64_t *bytes)
{
	unsigned n = 0;

	for (uint64_t have = from, at = from; at < to; at += BLOCK) {
		if (at < have)
			continue;
		have = ahead_window(a, at, at + BLOCK);
		*bytes += have - at;
		n++;
	}
	return n;
}

START_TEST(who_jumps_gets_what_he_asked_for)
{
	struct ahead a = {0};

	ahead_reset(&a, SIZE);
	for (uint64_t at = 0; at + BLOCK < SIZE; at += 5 * BLOCK)
		ck_assert_uint_eq(ahead_window(&a, at, at + BLOCK), at + BLOCK);
	for (uint64_t at = SIZE - 40 * BLOCK; at > SIZE / 2; at -= 3 * BLOCK)
		ck_assert_uint_eq(ahead_window(&a, at, at + BLOCK), at + BLOCK);
	ahead_reset(&a, 0);
}
END_TEST

START_TEST(windows_grow_and_end)
{
	uint64_t bytes = 0, short_bytes = 0, a_bytes = 0, b_bytes = 0;
	struct ahead a = {0};

	ahead_reset(&a, SIZE);
	ck_assert_uint_le(read_on(&a, 0, 64 * MIB, &bytes), 24);
	ck_assert_uint_le(bytes, 68 * MIB);
	/* Never much more than what was read. */
	ahead_reset(&a, 0);
	for (uint64_t n = BLOCK; n < 8 * MIB; n += 3 * BLOCK) {
		ahead_reset(&a, SIZE);
		short_bytes = 0;
		read_on(&a, 0, n, &short_bytes);
		ck_assert_uint_le(short_bytes, 2 * n + 5 * BLOCK);
	}
	/* Two readers at once are two runs. */
	ahead_reset(&a, SIZE);
	for (unsigned i = 0; i < 16; i++) {
		read_on(&a, i * BLOCK, (i + 1) * BLOCK, &a_bytes);
		read_on(&a, SIZE / 2 + i * BLOCK, SIZE / 2 + (i + 1) * BLOCK, &b_bytes);
	}
	ck_assert_uint_eq(a_bytes, b_bytes);
	ck_assert_uint_eq(ahead_window(&a, SIZE - 10, SIZE), SIZE);
	ahead_reset(&a, 0);
}
END_TEST

START_TEST(tables_are_read_to_their_end)
{
	uint64_t bytes = 0;
	struct ahead a = {0};

	ahead_reset(&a, SIZE);
	ahead_table(&a, 10 * BLOCK + 77, 5 * BLOCK);
	ahead_table(&a, 50 * BLOCK, 40 * MIB);
	ahead_table(&a, SIZE - 5, 10); /* it is not in the file */
	ahead_table(&a, SIZE, 0);
	ck_assert_uint_eq(a.n_tables, 2);
	/* A small one at once, and not what stands behind it. */
	ck_assert_uint_eq(ahead_window(&a, 11 * BLOCK, 12 * BLOCK), 15 * BLOCK + 77);
	ck_assert_uint_eq(ahead_window(&a, 30 * BLOCK, 31 * BLOCK), 31 * BLOCK);
	/* In a long one windows become longer than elsewhere, and stop with it. */
	ck_assert_uint_le(read_on(&a, 50 * BLOCK, 50 * BLOCK + 40 * MIB, &bytes), 11);
	ck_assert_uint_eq(bytes, 40 * MIB);
	/* A request for more gets all of it. */
	ck_assert_uint_eq(ahead_window(&a, 13 * BLOCK, 17 * BLOCK), 17 * BLOCK);
	/* A read at the beginning of a long table gets more than a read in its middle. */
	ck_assert_uint_eq(ahead_window(&a, 50 * BLOCK, 51 * BLOCK), 54 * BLOCK);
	ck_assert_uint_eq(ahead_window(&a, 200 * BLOCK, 201 * BLOCK), 201 * BLOCK);
	for (unsigned i = 0; i < 100; i++)
		ahead_table(&a, i, 1);
	ck_assert_uint_eq(a.n_tables, AHEAD_TABLES);
	ahead_reset(&a, 0);
}
END_TEST

START_TEST(who_reads_on_does_not_wait)
{
	uint64_t from = 0, to, end = BLOCK, table = 40ull * MIB;
	unsigned waits = 0;
	struct ahead a = {0};

	ahead_reset(&a, SIZE);
	ahead_table(&a, 0, table);
	ck_assert(!ahead_go_on(&a, 0, &from, &to)); /* no reader yet */
	/* He waits until a window is long enough for a mark; from then on he finds all that he wants. */
	for (to = 0; end < table; waits++) {
		from = end;
		end = ahead_window(&a, from, from + BLOCK);
		if (!a.runs[0].mark)
			continue;
		ck_assert_uint_gt(a.runs[0].mark, from);
		ck_assert_uint_lt(a.runs[0].mark, end);
		while (ahead_go_on(&a, 0, &from, &to)) {
			ck_assert_uint_eq(from, end);
			ck_assert_uint_gt(to, from);
			ck_assert_uint_le(to - from, 8 * MIB);
			ck_assert_uint_eq(a.runs[0].mark, from);
			end = to;
		}
	}
	ck_assert_uint_eq(end, table); /* and not into what stands behind it */
	ck_assert_uint_le(waits, 4);
	/* Who jumps has no mark. */
	ahead_window(&a, 60 * MIB, 60 * MIB + BLOCK);
	ck_assert(!ahead_go_on(&a, 1, &from, &to));
	ahead_reset(&a, 0);
}
END_TEST

#define HEADS 600
static uint64_t heads[HEADS];

/* Units of 185 KiB behind 8 MiB. */
static void with_heads(struct ahead *a)
{
	for (unsigned i = 0; i < HEADS; i++)
		heads[i] = 8 * MIB + i * 185ull * 1024 + 13;
	ahead_reset(a, SIZE);
	a->units = (struct ahead_span){8 * MIB, SIZE};
	ck_assert(ahead_lacks_heads(a, 8 * MIB));
	ck_assert(!ahead_lacks_heads(a, 8 * MIB - 1));
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(ahead_window(a, 9 * MIB + i * BLOCK, 9 * MIB + (i + 1) * BLOCK),
			9 * MIB + (i + 1) * BLOCK);
	ck_assert_int_eq(ahead_heads(a, heads, HEADS), 0);
	ck_assert(!ahead_lacks_heads(a, 8 * MIB));
}

static uint64_t page(unsigned head)
{
	return heads[head] - heads[head] % AHEAD_PAGE;
}

START_TEST(heads_come_before_somebody_hops_there)
{
	struct ahead_span s[AHEAD_BATCH];
	unsigned stalls = 0, have = 0;
	uint64_t bytes = 0;
	struct ahead a = {0};

	with_heads(&a);
	for (unsigned i = 0; i < HEADS; i++) {
		unsigned n;

		if (i < have)
			continue;
		stalls++;
		n = ahead_hop(&a, page(i), page(i) + AHEAD_PAGE, s);
		ck_assert_msg(n > 0 || i < 1, "head %u", i);
		for (unsigned k = 0; k < n; k++) {
			ck_assert_uint_eq(s[k].off, page(i + k));
			bytes += s[k].end - s[k].off;
		}
		have = i + MAX(n, 1);
	}
	ck_assert_uint_le(stalls, 12);
	ck_assert_uint_le(bytes, HEADS * 2 * AHEAD_PAGE);
	ahead_reset(&a, 0);
}
END_TEST

START_TEST(who_does_not_hop_gets_no_heads)
{
	struct ahead_span s[AHEAD_BATCH];
	struct ahead a = {0};

	with_heads(&a);
	/* Into the middle of units, and to heads here and there, and backwards. */
	for (unsigned i = 0; i < HEADS; i++)
		ck_assert_uint_eq(ahead_hop(&a, page(i) + 2 * AHEAD_PAGE, page(i) + 3 * AHEAD_PAGE, s), 0);
	for (unsigned i = 0; i < HEADS; i += 20)
		ck_assert_uint_eq(ahead_hop(&a, page(i), page(i) + AHEAD_PAGE, s), 0);
	for (unsigned i = HEADS; i-- > 0;)
		ck_assert_uint_eq(ahead_hop(&a, page(i), page(i) + AHEAD_PAGE, s), 0);
	ck_assert_uint_eq(ahead_hop(&a, 0, AHEAD_PAGE, s), 0);
	/* Who stops early had no more fetched than he wanted, and as much again. */
	ck_assert_uint_eq(ahead_hop(&a, page(50), page(50) + AHEAD_PAGE, s), 0);
	ck_assert_uint_eq(ahead_hop(&a, page(51), page(51) + AHEAD_PAGE, s), 4);
	ck_assert_uint_eq(ahead_hop(&a, page(55), page(55) + AHEAD_PAGE, s), 8);
	ck_assert_uint_eq(ahead_hop(&a, page(52), page(52) + AHEAD_PAGE, s), 0);
	/* The last ones. */
	ahead_hop(&a, page(HEADS - 2), page(HEADS - 2) + AHEAD_PAGE, s);
	ck_assert_uint_eq(ahead_hop(&a, page(HEADS - 1), page(HEADS - 1) + AHEAD_PAGE, s), 1);
	ahead_reset(&a, 0);
}
END_TEST

START_TEST(heads_that_are_wrong)
{
	static const uint64_t odd[] = {500, 400, 500, 100000, 100001, SIZE, UINT64_MAX, 104095, 3};
	struct ahead_span s[AHEAD_BATCH];
	struct ahead a = {0};

	ahead_reset(&a, SIZE);
	ck_assert_int_eq(ahead_heads(&a, odd, ARRAY_SIZE(odd)), 0);
	ck_assert_uint_eq(a.n_heads, 4);
	ahead_hop(&a, 0, AHEAD_PAGE, s);
	/* Two of one page, and one that goes on in the next. */
	ck_assert_uint_eq(ahead_hop(&a, 98304, 102400, s), 1);
	ck_assert_uint_eq(s[0].off, 98304);
	ck_assert_uint_eq(s[0].end, 98304 + 2 * AHEAD_PAGE);
	ck_assert_int_eq(ahead_heads(&a, NULL, 0), 0);
	ck_assert_uint_eq(ahead_hop(&a, 0, SIZE, s), 0);
	ahead_reset(&a, 0);
}
END_TEST

UNIT_MAIN("ahead", who_jumps_gets_what_he_asked_for, windows_grow_and_end, tables_are_read_to_their_end,
	who_reads_on_does_not_wait,
	heads_come_before_somebody_hops_there, who_does_not_hop_gets_no_heads, heads_that_are_wrong)

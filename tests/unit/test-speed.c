/* Tests net/speed.h: answer times are smoothed, and rates are measured only while bodies come and grow no more. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/speed.h"
#include "base/util.h"
#include "unit.h"

#define CHUNK 16384u

/* n bytes at a rate, from *now on; what was measured is near `want` (0: nothing). */
static void flow(struct speed *s, uint64_t *now, size_t n, double rate)
{
	for (size_t came = 0; came < n; came += CHUNK) {
		*now += (uint64_t)(CHUNK * 1e6 / rate);
		speed_came(s, *now, CHUNK);
	}
}

static bool is_near(double a, double b)
{
	return a > b * 0.8 && a < b * 1.25;
}

START_TEST(unmeasured)
{
	struct speed s = {0};

	ck_assert(speed_round_us(&s) == 20000 && speed_rate(&s) == 50e6);
	speed_answered(&s, 0);
	speed_answered(&s, -3);
	speed_answered(&s, 1e9);
	speed_came(&s, 10, 1 << 20); /* without speed_begin() */
	speed_end(&s);
	ck_assert(speed_round_us(&s) == 20000 && speed_rate(&s) == 50e6 && s.flowing == 0);
}
END_TEST

START_TEST(answers)
{
	struct speed s = {0};

	speed_answered(&s, 100e3);
	ck_assert(is_near(speed_round_us(&s), 100e3));
	speed_answered(&s, 20e3); /* one does not change much */
	ck_assert(speed_round_us(&s) > 70e3);
	for (unsigned i = 0; i < 20; i++)
		speed_answered(&s, 20e3);
	ck_assert(is_near(speed_round_us(&s), 20e3));
}
END_TEST

START_TEST(rates)
{
	static const double all[] = {1e5, 1e6, 5e6, 5e7, 4e8};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct speed s = {0};
		uint64_t now = 1000000;

		speed_begin(&s, now);
		flow(&s, &now, MAX((size_t)(256 << 10), (size_t)(all[i] / 100)), all[i]);
		ck_assert_msg(is_near(speed_rate(&s), all[i]), "%g instead of %g", speed_rate(&s), all[i]);
		speed_end(&s);
		/* Time in which nothing flows does not count. */
		now += 60000000;
		speed_begin(&s, now);
		flow(&s, &now, (size_t)(all[i] / 10) + (1 << 20), all[i]);
		ck_assert(is_near(speed_rate(&s), all[i]));
	}
}
END_TEST

/* Two transfers at once: what counts is what both get. */
START_TEST(together)
{
	struct speed s = {0};
	uint64_t now = 5;

	speed_begin(&s, now);
	speed_begin(&s, now);
	for (unsigned i = 0; i < 200; i++) {
		now += (uint64_t)(2 * CHUNK * 1e6 / 10e6);
		speed_came(&s, now, CHUNK);
		speed_came(&s, now, CHUNK);
	}
	ck_assert(is_near(speed_rate(&s), 10e6));
	speed_end(&s);
	ck_assert_uint_eq(s.flowing, 1);
}
END_TEST

/* TCP begins slowly: as long as the rate grows, it is not the host's. */
START_TEST(still_growing)
{
	struct speed s = {0};
	uint64_t now = 5;

	speed_begin(&s, now);
	for (double rate = 1e6; rate < 8e6; rate *= 2)
		flow(&s, &now, 112 << 10, rate);
	ck_assert(speed_rate(&s) == 50e6);
	flow(&s, &now, 1 << 20, 8e6);
	ck_assert(is_near(speed_rate(&s), 8e6));
}
END_TEST

/* Too quick to be measured: then it is at least fast. */
START_TEST(at_once)
{
	struct speed s = {0};

	speed_begin(&s, 5);
	speed_came(&s, 5, 256 << 10);
	ck_assert(speed_rate(&s) > 200e6 && !speed_is_known(&s));
	/* What waited in the socket does not count, nor the time until it was read. */
	s = (struct speed){0};
	speed_begin(&s, 5);
	speed_skip(&s, 100000);
	for (unsigned i = 1; i <= 32; i++)
		speed_came(&s, 100000 + i * 1000, 10000);
	ck_assert(speed_is_known(&s) && is_near(speed_rate(&s), 10e6));
}
END_TEST

UNIT_MAIN("speed", unmeasured, answers, rates, together, still_growing, at_once)

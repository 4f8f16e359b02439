/* Waits and times of the unit tests. No test depends on the speed of the machine: a case either waits for a
 * condition, or has deadlines so long that they never expire, or repeats itself with longer ones. The name of a case
 * whose point is a time begins with timed_ (unit.h). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <check.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

/* A deadline that never expires: a case that wrongly waits for its end hangs, and fails by that. */
#define UNIT_HOUR_MS 3600000u

/* Waits until the condition holds. Fails after five minutes: the case hangs. */
#define unit_wait(condition)                                                                       \
	do {                                                                                       \
		for (unsigned unit_left = 30000; !(condition); unit_left--) {                      \
			ck_assert_msg(unit_left, "still not true: %s", #condition);                \
			poll(NULL, 0, 10);                                                         \
		}                                                                                  \
	} while (0)

/* For a case in which one deadline of `ms` expires and another must not: it holds with some `ms` up to a minute. A
 * busy machine needs more than an idle one. */
static inline void unit_holds(bool (*with)(unsigned ms), unsigned ms)
{
	while (!with(ms)) {
		ck_assert_msg(ms < 60000, "does not hold with a deadline of %u ms either", ms);
		ms *= 4;
	}
}

/* A bound for an idle machine, as a bound for this machine (tests/helpers/bounded.c). For timed_ cases. */
static inline unsigned unit_scaled(unsigned ms)
{
	const char *percent = getenv("SYMFS_TEST_FACTOR");

	return ms * (percent ? (unsigned)strtoul(percent, NULL, 10) : 100) / 100;
}

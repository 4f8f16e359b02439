/* Reads the monotonic and the wall clock, and prints times. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000 + 1;
}

uint64_t clock_own(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct timespec clock_after(clockid_t clock, unsigned ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000l;
	if (t.tv_nsec >= 1000000000l) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000l;
	}
	return t;
}

int64_t clock_wall(void)
{
	return (int64_t)time(NULL);
}

void clock_print(int64_t wall, char out[static 24])
{
	time_t t = (time_t)wall;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(out, 24, "-");
}

double clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Time. Deadlines are on the monotonic clock, lifetimes on the wall clock. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>
#include <time.h>

uint64_t clock_ms(void);      /* monotonic, milliseconds; never 0 */
double clock_seconds(void);   /* monotonic, as precise as possible: for durations */
uint64_t clock_own(void);     /* processor time of this thread, nanoseconds */
struct timespec clock_after(clockid_t clock, unsigned ms); /* `ms` milliseconds from now, by that clock */
int64_t clock_wall(void);     /* seconds since 1970 */
/* `usual`, or the number in the environment variable `name`, which only tests set. */
int64_t clock_limit(const char *name, int64_t usual);

/* "2026-05-04T10:20:30Z" for seconds since 1970. */
void clock_print(int64_t wall, char out[static 24]);

/* ---- dates of HTTP ------------------------------------------------------------------- */

#define DATE_TEXT 32

/* Prints a time (seconds since 1970) as "Sun, 06 Nov 1994 08:49:37 GMT". */
void date_print(int64_t wall, char out[static DATE_TEXT]);
/* Reads a date in any of the three forms of RFC 9110, 5.6.7. -1: `text` (may be NULL) has another form, is not a
 * date, or lies before 1970. */
int64_t date_read(const char *text);

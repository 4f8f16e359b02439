/* Dates of HTTP. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>

#define DATE_TEXT 32

/* Prints a time (seconds since 1970) as "Sun, 06 Nov 1994 08:49:37 GMT". */
void date_print(int64_t wall, char out[static DATE_TEXT]);
/* Reads a date in any of the three forms of RFC 9110, 5.6.7. -1: `text` (may be NULL) has another form, is not a
 * date, or lies before 1970. */
int64_t date_read(const char *text);

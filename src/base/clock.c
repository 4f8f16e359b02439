/* Reads the monotonic and the wall clock, prints times, and reads and prints dates of HTTP. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int64_t clock_limit(const char *name, int64_t usual)
{
	const char *test = getenv(name);

	return test && *test ? strtoll(test, NULL, 10) : usual;
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

/* ---- dates of HTTP ------------------------------------------------------------------- */

/* IMF-fixdate, and the two obsolete forms. */
enum form { FORM_IMF, FORM_RFC850, FORM_ASCTIME, FORMS };

static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static void print(enum form form, const struct tm *tm, char out[static DATE_TEXT + 8])
{
	const char *day = days[tm->tm_wday], *month = months + 3 * tm->tm_mon;
	unsigned d = (unsigned)tm->tm_mday % 100, y = (unsigned)(tm->tm_year + 1900) % 10000;
	char clock[16];

	snprintf(clock, sizeof(clock), "%02u:%02u:%02u", (unsigned)tm->tm_hour % 100, (unsigned)tm->tm_min % 100,
		(unsigned)tm->tm_sec % 100);
	if (form == FORM_IMF)
		snprintf(out, DATE_TEXT + 8, "%.3s, %02u %.3s %04u %s GMT", day, d, month, y, clock);
	else if (form == FORM_RFC850)
		snprintf(out, DATE_TEXT + 8, "%s, %02u-%.3s-%02u %s GMT", day, d, month, y % 100, clock);
	else
		snprintf(out, DATE_TEXT + 8, "%.3s %.3s %2u %s %04u", day, month, d, clock, y);
}

void date_print(int64_t wall, char out[static DATE_TEXT])
{
	char text[DATE_TEXT + 8];
	time_t t = (time_t)wall;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	print(FORM_IMF, &tm, text);
	snprintf(out, DATE_TEXT, "%.*s", DATE_TEXT - 1, text);
}

static bool scan(enum form form, const char *text, char month[static 4], struct tm *tm)
{
	if (form == FORM_IMF)
		return sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d", &tm->tm_mday, month, &tm->tm_year,
			       &tm->tm_hour, &tm->tm_min, &tm->tm_sec) == 6;
	if (form == FORM_RFC850)
		return sscanf(text, "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d", &tm->tm_mday, month, &tm->tm_year,
			       &tm->tm_hour, &tm->tm_min, &tm->tm_sec) == 6;
	return sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d", month, &tm->tm_mday, &tm->tm_hour,
		       &tm->tm_min, &tm->tm_sec, &tm->tm_year) == 6;
}

/* A year of two digits that would lie more than 50 years ahead is one of the last century. */
static int century(int year)
{
	time_t now = time(NULL);
	struct tm tm = {0};

	gmtime_r(&now, &tm);
	year += (tm.tm_year + 1900) / 100 * 100;
	return year > tm.tm_year + 1900 + 50 ? year - 100 : year;
}

int64_t date_read(const char *text)
{
	for (enum form form = 0; text && form < FORMS; form++) {
		char month[4] = "", again[DATE_TEXT + 8];
		struct tm tm = {0};
		const char *m;
		time_t t;

		if (!scan(form, text, month, &tm))
			continue;
		m = strstr(months, month);
		if (!m || strlen(month) != 3 || (m - months) % 3)
			return -1;
		tm.tm_mon = (int)(m - months) / 3;
		tm.tm_year = (form == FORM_RFC850 ? century(tm.tm_year) : tm.tm_year) - 1900;
		t = timegm(&tm);
		print(form, &tm, again);
		text += strncmp(text, again, strlen(again)) == 0 ? strlen(again) : 0;
		return !text[strspn(text, " \t")] && t >= 0 ? t : -1;
	}
	return -1;
}

/* The time by which a store counts the ages of its files, because the wall clock may be wrong: a machine without a
 * battery starts in 1970, and a clock can jump years ahead. Plain values; any thread.
 *
 * An era is a time in which the wall clock has not jumped, by the clock that counts from the boot. A shutdown of less
 * than a day does not end an era. A store trusts an era that has lasted a day. Each use has its safe side:
 *
 *	time_past()	for what deletes. In an era that is not trusted, the time before the jump goes on. So nothing
 *			ends early; a file stays a day too long at most.
 *	time_now()	the later of the past and the wall clock, from which new ends count, and by which tokens end.
 *			So no upload gets an end in the past, and a token that has ended does not come back
 *			within the first day of a wrong clock.
 *	clock_wall()	for misses: a miss that is forgotten costs a request, and a miss from the future does not
 *			count. For tombstones, which say when a file ended and do not end themselves. For chunks of
 *			uploads, which clients send again. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define TIME_TEXT 160 /* time_print(), with its NUL */

/* What the clocks say. */
struct time_clocks {
	int64_t wall, up; /* seconds since 1970, and since the boot, with suspension */
	char boot[40];	  /* the boot's id */
};

struct store_time {
	struct time_clocks last; /* at the last look; wall 0: there was none */
	int64_t began;		 /* the earliest time_now() of the era */
	int64_t ahead;		 /* by how many seconds the wall clock has jumped ahead of time_past() */
	int64_t held;		 /* how many seconds the era has lasted */
};

enum time_event {
	TIME_GOES_ON,
	TIME_TRUSTED,	/* the era has lasted a day now */
	TIME_JUMPED,	/* an era begins */
	TIME_DISCARDED, /* an era begins, and ends that count from the era before mean nothing: it was not trusted, or
			 * the clock was behind: it has jumped ahead, during a boot or by more than a month */
};

/* Looks at the clocks. The first look begins an era: `fresh`, a store without files, has nothing to lose. */
enum time_event time_look(struct store_time *t, const struct time_clocks *now, bool fresh);
/* Whether the era has lasted a day. */
static inline bool time_is_trusted(const struct store_time *t)
{
	return t->held >= 86400;
}

/* Both are of the last look. */
static inline int64_t time_past(const struct store_time *t)
{
	return time_is_trusted(t) ? t->last.wall : t->last.wall - t->ahead;
}

static inline int64_t time_now(const struct store_time *t)
{
	return time_past(t) > t->last.wall ? time_past(t) : t->last.wall;
}

void time_print(const struct store_time *t, char out[static TIME_TEXT]);
bool time_parse(struct store_time *t, const char *text); /* false: the text is no such time, and `t` is zeroed */

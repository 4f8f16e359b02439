/* Finds jumps of the wall clock. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/time.h"
#include "base/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR 3600
#define DAY 86400
#define MONTH (30 * DAY)

enum time_event time_look(struct store_time *t, const struct time_clocks *now, bool fresh)
{
	bool first = t->last.wall == 0, same = strcmp(t->last.boot, now->boot) == 0 && now->up >= t->last.up;
	bool trusted = time_is_trusted(t);
	int64_t passed = same ? now->up - t->last.up : 0, jump = now->wall - t->last.wall - passed;

	t->last = *now;
	if (first || jump < -HOUR || jump > (same ? HOUR : DAY)) {
		if (first)
			t->ahead = fresh ? 0 : now->wall;
		else if (trusted || t->ahead || jump > 0) /* else a new store's only clock was ahead */
			t->ahead = jump + (trusted ? 0 : t->ahead);
		/* A clock that comes back to the old time was right before. */
		t->held = !first && t->ahead > -HOUR && t->ahead < HOUR ? DAY : 0;
		t->began = time_now(t);
		return first || (trusted && jump < (same ? HOUR : MONTH)) ? TIME_JUMPED : TIME_DISCARDED;
	}
	t->held += passed;
	if (trusted || !time_is_trusted(t))
		return TIME_GOES_ON;
	t->began = MIN(t->began, now->wall); /* a clock that was behind is believed now */
	return TIME_TRUSTED;
}

#define FORMAT(number) "%" number " %" number " %" number " %" number " %" number

void time_print(const struct store_time *t, char out[static TIME_TEXT])
{
	snprintf(out, TIME_TEXT, FORMAT(PRId64) " %s", t->last.wall, t->last.up, t->began, t->ahead, t->held,
		t->last.boot);
}

/* The index may be damaged; sums of such numbers do not overflow. */
static bool is_sane(int64_t seconds)
{
	return seconds > -(1ll << 40) && seconds < 1ll << 40;
}

bool time_parse(struct store_time *t, const char *text)
{
	*t = (struct store_time){.held = 0};
	if (sscanf(text, FORMAT(SCNd64) " %39s", &t->last.wall, &t->last.up, &t->began, &t->ahead, &t->held,
		t->last.boot) == 6 && is_sane(t->last.wall) && is_sane(t->last.up) && is_sane(t->began) &&
		is_sane(t->ahead) && is_sane(t->held))
		return true;
	*t = (struct store_time){.held = 0};
	return false;
}

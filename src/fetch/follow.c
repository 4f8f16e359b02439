/* Leads one download or conversion among the processes of a store, or detects that its leader has stalled. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/follow.h"
#include "base/clock.h"
#include "store/flights.h"

#include <errno.h>

/* Whether the leader has stalled. Counts looks instead of time, because this process may have been stopped, too. */
static bool follow_is_silent(struct follow *w, struct store *s, uint64_t number, unsigned silence_ms)
{
	unsigned most = silence_ms ? silence_ms : (unsigned)clock_limit("SYMFS_TEST_SILENCE_MS", FLIGHTS_SILENCE_MS);
	bool heard = flights_beats(s, number);

	w->silent = heard == w->beat ? w->silent + 1 : 0;
	w->beat = heard;
	return w->silent > most / FOLLOW_LOOK_MS;
}

int follow_look(struct follow *w, struct store *s, uint64_t number, unsigned silence_ms)
{
	int r = flights_lead(s, number);

	if (r == 0) {
		w->leads = true;
		w->beat = false;
		return 0;
	}
	if (r != -EAGAIN)
		return r;
	w->alone = follow_is_silent(w, s, number, silence_ms);
	return w->alone ? 0 : -EAGAIN;
}

void follow_beat(struct follow *w, struct store *s, uint64_t number)
{
	w->beat = !w->beat;
	flights_beat(s, number, w->beat);
}

void follow_end(struct follow *w, struct store *s, uint64_t number)
{
	if (w->leads || w->alone)
		flights_drop(s, number);
	*w = (struct follow){0};
}

/* The store's clocks: keeps in the index the time by which files end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/session.h"

#include <stdio.h>

#define KEEP_EVERY 600 /* seconds; a time that is not written costs nothing within the same boot */

static void read_clocks(const struct store *s, struct time_clocks *out)
{
	struct timespec up;

	clock_gettime(CLOCK_BOOTTIME, &up);
	*out = (struct time_clocks){.wall = clock_wall(), .up = up.tv_sec};
	snprintf(out->boot, sizeof(out->boot), "%s", s->boot);
}

/* What a look at the clocks would find now; it is not kept. */
static struct store_time look_now(struct store *s)
{
	LOCK_SCOPE(&s->time_lock);
	struct store_time t = s->time;
	struct time_clocks now;

	read_clocks(s, &now);
	time_look(&t, &now, false);
	return t;
}

int64_t store_now(struct store *s)
{
	struct store_time t = look_now(s);

	return time_now(&t);
}

int64_t store_past(struct store *s)
{
	struct store_time t = look_now(s);

	return time_past(&t);
}

static int keep_time(struct index *ix, const struct store_time *t, enum time_event event, int64_t began)
{
	char text[TIME_TEXT];
	int r = index_begin(ix);

	time_print(t, text);
	if (r == 0)
		r = index_meta_set(ix, "time", text);
	if (r == 0 && event == TIME_DISCARDED)
		r = index_ends_anew(ix, time_now(t), began);
	return index_end(ix, r);
}

int now_look(struct session *ses)
{
	struct store_time t, was;
	struct time_clocks now;
	char text[TIME_TEXT] = "";
	enum time_event event;
	uint64_t bytes = 0;
	int r = index_meta(ses->ix, "time", text, sizeof(text));

	if (r < 0 && r != -ENOENT)
		return r;
	time_parse(&was, text);
	t = was;
	r = was.last.wall ? 0 : index_bytes(ses->ix, &bytes);
	if (r < 0)
		return r;
	read_clocks(ses->s, &now);
	event = time_look(&t, &now, bytes == 0);
	if (event != TIME_GOES_ON || t.last.wall - was.last.wall >= KEEP_EVERY)
		r = keep_time(ses->ix, &t, event, was.began);
	if (r == 0 && was.last.wall && event >= TIME_JUMPED && t.held == 0)
		log_warn("%s: the clock has jumped by %lld s: no upload expires within a day", ses->s->dir,
			(long long)(now.wall - was.last.wall));
	LOCK_SCOPE(&ses->s->time_lock);
	ses->s->time = t;
	return r;
}

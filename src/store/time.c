/* Finds jumps of the wall clock, and keeps in the index the time by which files end. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "store/session.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR 3600
#define DAY 86400
#define MONTH (30 * DAY)
#define KEEP_EVERY 600 /* seconds; a time that is not written costs nothing within the same boot */

static bool is_trusted(const struct store_time *t)
{
	return t->held >= DAY;
}

int64_t time_past(const struct store_time *t)
{
	return is_trusted(t) ? t->last.wall : t->last.wall - t->ahead;
}

int64_t time_now(const struct store_time *t)
{
	return MAX(time_past(t), t->last.wall);
}

enum time_event time_look(struct store_time *t, const struct time_clocks *now, bool fresh)
{
	bool first = t->last.wall == 0, same = strcmp(t->last.boot, now->boot) == 0 && now->up >= t->last.up;
	bool trusted = is_trusted(t);
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
	if (trusted || !is_trusted(t))
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

/* ---- the store's clocks ---------------------------------------------------------------- */

static void read_clocks(const struct store *s, struct time_clocks *out)
{
	struct timespec up;

	clock_gettime(CLOCK_BOOTTIME, &up);
	*out = (struct time_clocks){.wall = clock_wall(), .up = up.tv_sec};
	snprintf(out->boot, sizeof(out->boot), "%s", s->boot);
}

void now_init(struct store *s)
{
	_cleanup_free_ char *boot = NULL;

	if (path_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", sizeof(s->boot) + 20, &boot, NULL) == 0)
		snprintf(s->boot, sizeof(s->boot), "%.*s", (int)strcspn(boot, "\n"), boot);
	pthread_mutex_init(&s->time_lock, NULL);
}

/* What a look at the clocks would find now; it is not kept. */
static struct store_time look(struct store *s)
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
	struct store_time t = look(s);

	return time_now(&t);
}

int64_t store_past(struct store *s)
{
	struct store_time t = look(s);

	return time_past(&t);
}

static int keep(struct index *ix, const struct store_time *t, enum time_event event, int64_t began)
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
		r = keep(ses->ix, &t, event, was.began);
	if (r == 0 && was.last.wall && event >= TIME_JUMPED && t.held == 0)
		log_warn("%s: the clock has jumped by %lld s: no upload expires within a day", ses->s->dir,
			(long long)(now.wall - was.last.wall));
	LOCK_SCOPE(&ses->s->time_lock);
	ses->s->time = t;
	return r;
}

/* The circuit breaker: records which hosts fail, and when to try each again. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/breaker.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SOFT_MANY 3	   /* useless answers in a row before a host counts as failing */
#define CHEAP_MS 1000	   /* first retry interval after a quick failure, which costs nothing; doubles with
			      each failure */
#define HOLD_MOST 3600000u /* milliseconds; the longest delay that a server can ask for */
#define LATELY_MS 300000   /* a host that answered within this time is not failing after one stalled request */
#define LOG_MS 60000	   /* a host that fails again and again has at most one entry in the log for this time */

struct host {
	struct host *next;
	char origin[NET_HOST_MAX];
	unsigned failures;    /* consecutive failures */
	uint64_t open_until;  /* clock_ms() of the next retry of a failing host; 0: the host is ok */
	uint64_t alive;       /* clock_ms() of its last good answer; 0: none yet */
	int64_t since;	      /* clock_wall() of the first of its consecutive failures */
	uint64_t logged;      /* clock_ms() of the log's last line about a failure; 0: none yet */
	bool in_log;	      /* the log has a line about the present failures */
	bool outrun;	      /* see breaker_outrun() */
	uint64_t trying;      /* clock_ms() at which the request that tries a failing host began; 0: no such
				 request */
	bool refuses;	      /* the last answer asked for a token or password */
	int error;	      /* of the last failure */
	char text[160];
};

struct breakers {
	pthread_mutex_t lock;
	unsigned open_ms;
	struct host *hosts; /* under lock; one for each configured host, so only a few */
};

int breakers_new(struct breakers **out, unsigned open_ms)
{
	struct breakers *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	b->open_ms = open_ms;
	*out = b;
	return 0;
}

void breakers_free(struct breakers *b)
{
	if (!b)
		return;
	while (b->hosts) {
		struct host *h = b->hosts;

		b->hosts = h->next;
		free(h);
	}
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static struct host *host_find(struct breakers *b, const char *origin, bool make)
{
	struct host *h = b->hosts;

	while (h && strcmp(h->origin, origin) != 0)
		h = h->next;
	if (h || !make)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	snprintf(h->origin, sizeof(h->origin), "%s", origin);
	h->next = b->hosts;
	b->hosts = h;
	return h;
}

static void host_text(const struct host *h, uint64_t now, char out[static 240])
{
	char since[24], when[40] = "retrying now";

	if (!h || !h->open_until) {
		snprintf(out, 240, "ok");
		if (h && h->refuses)
			snprintf(out, 240, "refused: %.150s: it wants a token or password; see header in "
				"symfs.conf(5)", h->text);
		return;
	}
	if (h->open_until > now)
		snprintf(when, sizeof(when), "retry in %" PRIu64 " s", (h->open_until - now + 999) / 1000);
	clock_print(h->since, since);
	snprintf(out, 240, "failing, %s: %.150s (since %s)", when, h->text, since);
}

bool breaker_may(struct breakers *b, const char *origin, uint64_t now, char why[static 240])
{
	LOCK_SCOPE(&b->lock);
	struct host *h = host_find(b, origin, false);

	if (!h || !h->open_until)
		return true;
	/* A trial that never reports would block the host for ever, so allow another after open_ms. */
	if (h->open_until <= now && (!h->trying || now - h->trying > b->open_ms)) {
		h->trying = now;
		return true;
	}
	host_text(h, now, why);
	return false;
}

/* Whether one stalled request says little about the host: a server can need much time for some files. For
 * example, debuginfod first unpacks the package that contains the file. */
static bool is_one_slow_file(const struct host *h, uint64_t now)
{
	return h->failures == 1 && h->alive && now - h->alive < LATELY_MS;
}

static uint64_t hold_for(const struct breakers *b, const struct host *h, enum blame blame, uint64_t now)
{
	unsigned doublings;

	if (blame == BLAME_SILENT)
		return is_one_slow_file(h, now) ? 0 : b->open_ms;
	if (blame == BLAME_COSTLY)
		return b->open_ms;
	if (blame == BLAME_SOFT && h->failures < SOFT_MANY)
		return 0;
	doublings = h->failures - (blame == BLAME_SOFT ? SOFT_MANY : 1);
	return MIN((uint64_t)CHEAP_MS << MIN(doublings, 20u), (uint64_t)b->open_ms);
}

int breaker_error(struct breakers *b, const char *origin)
{
	LOCK_SCOPE(&b->lock);
	const struct host *h = host_find(b, origin, false);

	return h && h->error == -EREMOTEIO ? -EREMOTEIO : -EHOSTUNREACH;
}

void breaker_unheard(struct breakers *b, const char *origin)
{
	LOCK_SCOPE(&b->lock);
	struct host *h = host_find(b, origin, false);

	if (h)
		h->trying = 0;
}

static void host_is_well(struct host *h, uint64_t now)
{
	if (h->in_log)
		log_info("%s answers again, after %" PRId64 " s", h->origin, MAX(clock_wall() - h->since, 0));
	h->in_log = false;
	h->trying = h->open_until = 0;
	h->failures = 0;
	h->error = 0;
	h->alive = now;
	h->outrun = false;
}

static void log_failing(struct host *h, uint64_t now)
{
	char text[240];

	if (h->in_log || (h->logged && now - h->logged < LOG_MS))
		return;
	host_text(h, now, text);
	log_info("%s: %s", h->origin, text);
	h->in_log = true;
	h->logged = now;
}

static void host_failed(struct host *h, uint64_t now, const struct judgement *j, uint64_t hold)
{
	h->trying = 0;
	h->error = j->error;
	snprintf(h->text, sizeof(h->text), "%.150s", j->text);
	if (hold) {
		h->open_until = MAX(h->open_until, now + hold);
		log_failing(h, now);
	} else if (h->open_until <= now) {
		h->open_until = 0;
	}
}

void breaker_tell(struct breakers *b, const char *origin, uint64_t now, const struct judgement *j,
	uint64_t hold_ms)
{
	struct host *h;

	if (j->blame == BLAME_UNKNOWN) {
		breaker_unheard(b, origin);
		return;
	}
	LOCK_SCOPE(&b->lock);
	h = host_find(b, origin, true);
	if (!h)
		return;
	if (j->blame == BLAME_NONE) {
		host_is_well(h, now);
		h->refuses = j->verdict == VERDICT_REFUSED;
		snprintf(h->text, sizeof(h->text), "%.150s", j->text);
		return;
	}
	if (h->failures++ == 0)
		h->since = clock_wall();
	host_failed(h, now, j,
		hold_ms ? MIN(hold_ms, (uint64_t)HOLD_MOST) : hold_for(b, h, j->blame, now));
}

bool breaker_alive(struct breakers *b, const char *origin, uint64_t since)
{
	LOCK_SCOPE(&b->lock);
	const struct host *h = host_find(b, origin, false);

	return h && h->alive >= since;
}

bool breaker_well(struct breakers *b, const char *origin)
{
	LOCK_SCOPE(&b->lock);
	const struct host *h = host_find(b, origin, false);

	return !h || h->failures == 0;
}

void breaker_outrun(struct breakers *b, const char *origin)
{
	LOCK_SCOPE(&b->lock);
	struct host *h = host_find(b, origin, true);

	if (h)
		h->outrun = true;
}

bool breaker_may_hold(struct breakers *b, const char *origin)
{
	LOCK_SCOPE(&b->lock);
	const struct host *h = host_find(b, origin, false);

	return !h || !h->outrun;
}

void breaker_text(struct breakers *b, const char *origin, uint64_t now, char out[static 240])
{
	LOCK_SCOPE(&b->lock);
	host_text(host_find(b, origin, false), now, out);
}

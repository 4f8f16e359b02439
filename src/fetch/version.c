/* Which version of a file a flight reads: by what it is known, and what becomes of it when its source
 * breaks off. Two versions are never mixed. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"

#include <stdio.h>
#include <string.h>

#define CHANGES_MOST 8 /* of one flight */

void version_take(struct flight *fl, const struct attempt *at)
{
	fl->first = at->source;
	free(fl->first_where);
	fl->first_where = strdup(at->ask.where);
	snprintf(fl->first_etag, sizeof(fl->first_etag), "%s", at->etag);
	snprintf(fl->first_modified, sizeof(fl->first_modified), "%s", at->modified);
}

bool same_version(const struct flight *fl, const struct net_reply *r)
{
	return (!r->etag[0] || !fl->first_etag[0] || strcmp(r->etag, fl->first_etag) == 0) &&
		(!r->modified[0] || !fl->first_modified[0] ||
			strcmp(r->modified, fl->first_modified) == 0);
}

/* ---- what becomes of it ----------------------------------------------------------------- */

enum version_next version_judge(const struct version_left *v)
{
	if (v->other && v->changes < CHANGES_MOST)
		return v->asking && !v->grace_over ? VERSION_WAIT : VERSION_CHANGE;
	if (v->asking || (v->same && v->stuck_ms < v->most_ms))
		return VERSION_WAIT;
	return VERSION_LOST;
}

bool version_has_other(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].stale)
			return true;
	return false;
}

enum version_next version_look(const struct flight *fl, bool asking)
{
	struct version_left v = {.other = version_has_other(fl), .asking = asking, .grace_over = fl->grace_over,
		.changes = fl->changes, .stuck_ms = clock_ms() - fl->stuck_since,
		.most_ms = fl->f->opts.lookup_deadline_ms};

	for (unsigned i = 0; i < fl->n; i++)
		v.same |= !fl->attempts[i].stale;
	return version_judge(&v);
}

/* ---- the change to another one ------------------------------------------------------------ */

void version_drop(struct flight *fl, bool forget, bool wrong, int error)
{
	if (fl->sparse)
		sparse_close_later(fl, forget);
	draft_discard(take(fl->draft));
	if (fl->part && part_suspend(fl->part))
		fl->untouched = take(fl->part);
	else if (fl->part)
		part_end(take(fl->part), wrong, error);
	fl->offer = OFFER_NONE;
	fl->size = FETCH_SIZE_UNKNOWN;
	fl->sure = false;
}

/* A source that did not break off has another version. */
static bool has_better(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].stale && !fl->attempts[i].broke)
			return true;
	return false;
}

/* All are asked anew. Who broke off is not, for a while, if another source has the file: else each flight
 * would begin with the same half of it. */
static void forget_attempts(struct flight *fl)
{
	bool better = has_better(fl);

	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->broke && better)
			attempt_set_aside(at, -EREMOTEIO, "it broke off, and another source has other bytes");
		if (at->state == ATTEMPT_FAILED)
			at->state = ATTEMPT_IDLE;
		at->stale = at->broke = at->cut = at->again = at->retried = false;
		at->spelling = 0;
	}
}

void version_change(struct flight *fl)
{
	log_warn("%s: source %s broke off: another version is read from now on", fl->canon, fl->first->name);
	race_stop(fl);
	ranges_stop(fl);
	net_timer_stop(fl->f->net, &fl->poll);
	forget_attempts(fl);
	version_drop(fl, true, false, -EIO);
	fl->plain = true;
	fl->broke_at = 0;
	fl->changes++;
	if (flight_is_lonely(fl) && !fl->linger && !flights_wanted(fl->f->store, fl->number)) {
		flight_cancel(fl);
		return;
	}
	flight_deadline(fl);
	race_start(fl);
}

/* Versions of a file: how to recognize a version, and how a download continues when its source breaks off.
 * Bytes of two versions are never mixed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "fetch/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGES_MOST 8 /* the most changes of version in one flight */

void version_take(struct version *v, const struct attempt *at)
{
	version_release(v);
	v->source = at->source;
	v->where = strdup(at->ask.where);
	snprintf(v->etag, sizeof(v->etag), "%s", at->answer.etag);
	snprintf(v->modified, sizeof(v->modified), "%s", at->answer.modified);
}

void version_release(struct version *v)
{
	free(v->where);
	v->where = NULL;
}

bool same_version(const struct version *v, const struct net_reply *r)
{
	return (!r->etag[0] || !v->etag[0] || strcmp(r->etag, v->etag) == 0) &&
		(!r->modified[0] || !v->modified[0] || strcmp(r->modified, v->modified) == 0);
}

const char *version_validator(const struct version *v)
{
	if (v->etag[0] && strncmp(v->etag, "W/", 2) != 0)
		return v->etag;
	return v->modified[0] ? v->modified : NULL;
}

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
		if (fl->attempts[i].retry.stale)
			return true;
	return false;
}

enum version_next version_look(const struct flight *fl, bool asking)
{
	struct version_left v = {.other = version_has_other(fl), .asking = asking, .grace_over = fl->race.grace_over,
		.changes = fl->body.versions_left, .stuck_ms = clock_ms() - fl->body.stuck_since,
		.most_ms = fl->f->opts.lookup_deadline_ms};

	for (unsigned i = 0; i < fl->n; i++)
		v.same |= !fl->attempts[i].retry.stale;
	return version_judge(&v);
}

/* Whether a source that did not break off has another version. */
static bool has_better(const struct flight *fl)
{
	for (unsigned i = 0; i < fl->n; i++)
		if (fl->attempts[i].retry.stale && !fl->attempts[i].retry.broke)
			return true;
	return false;
}

/* If another source has the file, a source that broke off is not asked for a while, because otherwise each flight
 * would begin with the same broken download. */
void version_forget_attempts(struct flight *fl)
{
	bool better = has_better(fl);

	for (unsigned i = 0; i < fl->n; i++) {
		struct attempt *at = &fl->attempts[i];

		if (at->retry.broke && better)
			attempt_set_aside(at, -EREMOTEIO, "it broke off, and another source has other bytes");
		if (at->state == ATTEMPT_FAILED)
			at->state = ATTEMPT_IDLE;
		at->retry = (struct retry){.renew = true};
	}
}

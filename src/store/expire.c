/* Expiry: removes files whose hold is over, purges files, and leaves tombstones. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/expire.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/made.h"

#include <stdio.h>
#include <string.h>

#define BATCH 64 /* objects of one transaction */
#define DAY 86400

/* Why and when keys end. */
struct burial {
	struct index *ix;
	int64_t when;
	const char *why;
	bool expired;
};

static int bury_key(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct burial *b = ctx;

	return index_tomb_put(b->ix, k, b->when, b->why, b->expired);
}

static int bury_object(struct burial *b, const struct index_object *o)
{
	int r = index_keys_of(b->ix, o->id, bury_key, b);

	if (r == 0)
		r = index_intent_add(b->ix, o->sha256, true);
	return r == 0 ? index_object_drop(b->ix, o->id) : r;
}

/* Drops an object from the index, with a tombstone for each key, and so the files that were made of it. The
 * caller settles the intents. */
static int bury(struct index *ix, const struct index_object *o, int64_t when, const char *why, bool expired)
{
	struct burial b = {.ix = ix, .when = when, .why = why, .expired = expired};
	_cleanup_free_ struct made_files *made = malloc(sizeof(*made));
	int r;

	do {
		r = made ? made_find(ix, o, made) : -ENOMEM;
		for (unsigned i = 0; r == 0 && i < made->n; i++)
			r = bury_object(&b, &made->list[i]);
	} while (r == 0 && made->n);
	return r == 0 ? bury_object(&b, o) : r;
}

/* "expired: class try, 30 days without a use" */
static void why_expired(const struct store_hold *h, char *out, size_t room)
{
	long long days = h->age / DAY;

	if (days)
		snprintf(out, room, "expired: class %s, %lld day%s without a use", h->class, days,
			days == 1 ? "" : "s");
	else
		snprintf(out, room, "expired: class %s, %lld s without a use", h->class, (long long)h->age);
}

static int expire_batch(struct session *ses, int64_t now, struct store_expired *done)
{
	char why[sizeof(((struct store_tomb *)NULL)->why)];
	struct store_expired batch = {0};
	struct index_object o;
	int r = index_begin(ses->ix);

	while (r == 0 && batch.artifacts < BATCH && (r = index_object_ended(ses->ix, now, &o)) == 0) {
		why_expired(&o.held.hold, why, sizeof(why));
		r = bury(ses->ix, &o, clock_wall(), why, true);
		batch.artifacts++;
		batch.bytes += o.size;
	}
	if (r == -ENOENT)
		r = 0;
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	done->artifacts += batch.artifacts;
	done->bytes += batch.bytes;
	return batch.artifacts ? session_settle(ses) : 0;
}

void expire_some(struct session *ses)
{
	struct store_expired done = {0};
	int64_t now = store_past(ses->s);
	struct index_object o;
	int r = index_object_ended(ses->ix, now, &o);

	if (r == 0)
		r = expire_batch(ses, now, &done);
	if (r < 0 && r != -ENOENT)
		log_debug(LOG_STORE, "expired files stay for now: %s", err_text(r));
}

/* Asks as a reader first: most often no file has expired, and the write lock is not needed. */
static int any_ended(struct store *s)
{
	_cleanup_free_ struct store_row *row = calloc(1, sizeof(*row));

	return row ? store_list_ended(s, 0, row, 1) : -ENOMEM;
}

static int expire_all(struct store *s, struct store_expired *out)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	struct store_expired done = {0}, before;

	while (session_next(&ses))
		do {
			before = done;
			ses.r = expire_batch(&ses, store_past(s), &done);
		} while (ses.r == 0 && done.artifacts > before.artifacts);
	if (ses.r == 0)
		*out = done;
	return ses.r;
}

int store_list_ended(struct store *s, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_list_ended(ses.ix, store_past(s), after, rows, n));
	return session_counted(&ses);
}

int store_expire(struct store *s, struct store_expired *out)
{
	int r = any_ended(s);

	if (r == 0)
		*out = (struct store_expired){0};
	return r <= 0 ? r : expire_all(s, out);
}

/* ---- one key ------------------------------------------------------------------------- */

static int purge_in(struct session *ses, const char *canon, const char *why, bool added)
{
	struct index_hit hit;
	int r = index_begin(ses->ix);

	if (r == 0)
		r = index_key_find(ses->ix, canon, &hit);
	if (r == 0 && !added && hit.object.held.pinned && !hit.object.held.hold.class[0])
		r = -EPERM;
	if (r == 0)
		r = bury(ses->ix, &hit.object, clock_wall(), why, false);
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	return session_settle(ses);
}

int store_purge(struct store *s, const struct key *k, const char *why, bool added)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	struct key here = store_key(s, k);
	char canon[KEY_TEXT];

	key_canon(&here, canon);
	while (session_next(&ses))
		ses.r = purge_in(&ses, canon, why, added);
	return ses.r;
}

int store_bury(struct store *s, const struct key *k, const char *why)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses)) {
		ses.r = index_begin(ses.ix);
		if (ses.r == 0)
			ses.r = index_end(ses.ix, index_tomb_put(ses.ix, k, clock_wall(), why, false));
	}
	return ses.r;
}

static int tomb_of(struct store *s, const struct key *k, struct store_tomb *out)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];

	key_canon(k, canon);
	while (session_next(&ses))
		ses.r = index_tomb(ses.ix, canon, out);
	return ses.r;
}

int store_tomb(struct store *s, const struct key *k, struct store_tomb *out)
{
	struct key named;
	int r = key_by_name(k, &named) ? tomb_of(s, &named, out) : -ENOENT;

	return r == 0 ? 0 : tomb_of(s, k, out);
}

static int hold_in(struct session *ses, const char *canon, const struct hold_state *held)
{
	struct index_hit hit;
	int r = index_begin(ses->ix);

	if (r == 0)
		r = index_key_find(ses->ix, canon, &hit);
	if (r == 0) {
		hold_join(&hit.object.held, held);
		r = index_object_hold(ses->ix, hit.object.id, &hit.object.held);
	}
	if (r == 0)
		r = index_intent_add(ses->ix, hit.object.sha256, false); /* the label has the hold, too */
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	session_settle(ses); /* if the disk has no room for the label, a later writer writes it */
	return 0;
}

int store_hold(struct store *s, const struct key *k, const struct store_hold *h)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	struct hold_state held = hold_begin(h, store_now(s));
	struct key here = store_key(s, k);
	char canon[KEY_TEXT];

	key_canon(&here, canon);
	while (session_next(&ses))
		ses.r = hold_in(&ses, canon, &held);
	return ses.r;
}

/* The ends of files in a team's bucket: e/SHA256 says until when the servers hold a file. The end that counts for all
 * is the latest one. Its time is that of the store's clock, because the clocks of servers differ. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "bucket/pages.h"
#include "bucket/private.h"
#include "source/bucket-key.h"

#include <stdio.h>
#include <string.h>

#define END_MOST 100 /* bytes of an object e/ */
#define END_TRIES 5 /* to change it, while other servers change it, too */

/* Seconds by which the store's clock is ahead of the own one, and the time of the store's clock. Small differences
 * count as none. */
static int64_t ahead(struct caller *c)
{
	return atomic_load(&c->ahead);
}

static int64_t bucket_now(struct caller *c)
{
	return clock_wall() + ahead(c);
}

/* Reads the end of a file. `condition`: the header under which a write replaces just this end; "": the store named no
 * version. 0; -ENOENT; -EBADMSG: it is malformed. Others: errors of call_run(). */
static int get_end(struct caller *c, const char *sha256, struct bucket_end *out,
	char condition[static CONDITION_MOST])
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(END_MOST);
	char name[BUCKET_NAME];
	struct call call = {.name = bucket_end_name(sha256, name), .answer = &text};
	int r = call_run(c, &call);

	condition[0] = '\0';
	if (r == -ENOENT)
		snprintf(condition, CONDITION_MOST, ONCE);
	else if (call.reply.etag[0] == '"') /* a weak version cannot be a condition */
		snprintf(condition, CONDITION_MOST, "If-Match: %s", call.reply.etag);
	if (r == 0 && (memchr(buf_text(&text), '\0', text.n) || bucket_end_parse(buf_text(&text), out) < 0))
		r = -EBADMSG;
	return r == -EFBIG ? -EBADMSG : r;
}

static int write_end(struct caller *c, const char *sha256, const struct bucket_end *end, const char *condition)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(END_MOST);
	char name[BUCKET_NAME];
	int r = bucket_end_write(end, &text);

	return r == 0 ? call_put_text(c, bucket_end_name(sha256, name), &text, condition) : r;
}

/* A hold here, or, without it, the time of a use; by the store's clock, as all ends. */
struct end_change {
	const struct bucket_end *hold;
	int64_t used, now;
};

/* What an end becomes; `had` NULL: the bucket has none. False: it stays as it is. */
static bool changed_end(const struct end_change *ch, const struct bucket_end *had, struct bucket_end *out)
{
	if (!ch->hold && !had)
		return false;
	*out = ch->hold ? *ch->hold : *had;
	if (!ch->hold)
		return bucket_end_renew(out, ch->used);
	if (had)
		bucket_end_join(out, had, ch->now);
	return !had || out->until != had->until || out->age != had->age || out->rank != had->rank;
}

/* Changes an end, which other servers may change in the same moment: it is read, and written if it is still as it was
 * read. Where the store cannot decide that, it is read again after the write, and written again if another server has
 * replaced it by an earlier one. A store may know If-None-Match alone, so the last try has no condition. */
static int change_end(struct caller *c, const char *sha256, const struct end_change *ch, bool conditions)
{
	char condition[CONDITION_MOST];
	struct bucket_end had, now;

	for (unsigned i = 1;; i++) {
		int r = get_end(c, sha256, &had, condition);
		bool sure = conditions && condition[0] && i < END_TRIES;

		if (r < 0 && r != -ENOENT && r != -EBADMSG)
			return r;
		if (!changed_end(ch, r == 0 ? &had : NULL, &now))
			return 0;
		r = write_end(c, sha256, &now, sure ? condition : NULL);
		if ((r == 0 && sure) || i == END_TRIES)
			return r;
		if (sure && (r == -EINVAL || r == -EREMOTEIO))
			conditions = false;
		else if (r < 0 && r != -EEXIST && r != -EAGAIN && r != -ENOENT)
			return r;
	}
}

/* The end of a file that is pinned here. */
static struct bucket_end own_end(struct caller *c, const struct hold_state *held)
{
	return (struct bucket_end){.until = held->ends ? held->ends + ahead(c) : INT64_MAX,
		.age = held->ends ? held->hold.age : 0, .rank = hold_rank(held)};
}

int put_hold(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions)
{
	struct bucket_end mine = own_end(c, held);
	int r = -EEXIST;

	if (held->pinned && conditions)
		r = write_end(c, sha256, &mine, ONCE);
	return r == -EEXIST || r == -EAGAIN ? put_hold_again(c, sha256, held, conditions) : r;
}

int put_use(struct caller *c, const struct use_row *use, bool conditions)
{
	return change_end(c, use->sha256, &(struct end_change){.used = use->used + ahead(c)}, conditions);
}

int end_is_held(struct caller *c, const char *sha256, int64_t *later, struct err *e)
{
	char condition[CONDITION_MOST];
	struct bucket_end end;
	int r = get_end(c, sha256, &end, condition);

	if (r == -EBADMSG)
		return err_set(e, r, "e/%.64s is malformed; delete it if no server holds the file", sha256);
	if (r == 0 && end.until > bucket_now(c)) {
		*later = end.until == INT64_MAX ? INT64_MAX : end.until - ahead(c);
		return 1;
	}
	return r == -ENOENT ? 0 : r;
}

int end_rank(struct caller *c, const char *sha256, enum hold_rank *out)
{
	char condition[CONDITION_MOST];
	struct bucket_end end;
	int r = get_end(c, sha256, &end, condition);

	if (r == 0 || r == -ENOENT || r == -EBADMSG)
		*out = r == 0 && end.until > bucket_now(c) ? end.rank : HELD_NOT;
	return r == -ENOENT || r == -EBADMSG ? 0 : r;
}

int put_hold_again(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions)
{
	struct bucket_end mine = own_end(c, held);
	struct end_change change = {.hold = &mine, .now = bucket_now(c)};

	return held->pinned ? change_end(c, sha256, &change, conditions) : 0;
}

int end_drop(struct caller *c, const char *sha256)
{
	char condition[CONDITION_MOST], name[BUCKET_NAME], refs[BUCKET_NAME];
	struct bucket_end had;
	int r = get_end(c, sha256, &had, condition), back;
	bool known = r == 0;

	snprintf(refs, sizeof(refs), "r/%.64s/", sha256);
	if (r == 0 || r == -EBADMSG)
		r = listing_any(c, refs);
	if (r != 0)
		return r == -ENOENT ? 0 : MIN(r, 0);
	r = call_delete(c, bucket_end_name(sha256, name));
	back = r == 0 && known ? listing_any(c, refs) : 0;
	if (back > 0)
		back = write_end(c, sha256, &had, ONCE);
	return r < 0 ? r : back == -EEXIST ? 0 : back;
}

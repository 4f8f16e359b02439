/* Removes expired and purged keys from a team's bucket, and the files that symfs made of theirs. An expired key stays
 * while another server holds the file, or has renewed it by a use: e/SHA256 has the end that counts for all.
 *
 * Another server may upload the file in the moment in which its key expires. That server writes the end first, then
 * the reference, and looks at the key object last (put.c). Here the key object and the reference are removed first,
 * and then the end is read once more. So either the later end is seen, and both are written again, or the other
 * server does not find the key object, and writes it. An end that is over stays: `cache gc --bucket` removes it with
 * the bytes. */
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
#define BACK_TRIES 4 /* to write a key object again */
#define ONCE "If-None-Match: *"
#define CONDITION_MOST 160 /* "If-Match: ETAG" */

/* `r`: how the key object was got, with its text. */
static int parse_key(int r, const struct buf *text, struct bucket_key *out)
{
	if (r == 0 && bucket_key_parse(buf_text(text), text->n, out) < 0)
		r = -EBADMSG;
	return r == -EFBIG ? -EBADMSG : r;
}

int get_key_object(struct caller *c, const char *name, struct bucket_key *out)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);

	return parse_key(call_get(c, name, &text), &text, out);
}

/* Removes a key object, and then its reference: no key object may lack one, because clear.c removes bytes without
 * references. `had`: what the key object says; NULL: it is malformed. */
static int end_key_object(struct caller *c, const char *digest, const struct bucket_key *had)
{
	char name[BUCKET_NAME];
	int r = call_delete(c, bucket_key_name(digest, name));

	return r == 0 && had ? call_delete(c, bucket_ref_name(had->sha256, digest, name)) : r;
}

int end_made(struct caller *c, const char *input, const char *digest)
{
	char name[BUCKET_NAME];
	struct bucket_key had;
	int r = get_key_object(c, bucket_key_name(digest, name), &had);

	if (r == 0 || r == -EBADMSG)
		r = end_key_object(c, digest, r == 0 ? &had : NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	snprintf(name, sizeof(name), BUCKET_MADE "%.64s/%.64s", input, digest);
	return call_delete(c, name);
}

/* Removes the files that were made of this file, whichever server made them. */
static int end_all_made(struct caller *c, const char *input)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it;
	char what[SHA256_TEXT + 4];
	int r;

	snprintf(what, sizeof(what), BUCKET_MADE "%.64s/", input);
	r = listing_open(&l, c, what);
	while (r == 0 && (r = listing_next(&l, &it)) == 0 && it)
		r = end_made(c, input, it->sha256);
	return r;
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

/* A hold here, or, without it, the time of a use. */
struct end_change {
	const struct bucket_end *hold;
	int64_t used;
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
		bucket_end_join(out, had, clock_wall());
	return !had || out->until != had->until || out->age != had->age;
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
		else if (r < 0 && r != -EEXIST && r != -EAGAIN)
			return r;
	}
}

int put_hold(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions)
{
	struct bucket_end mine = {.until = INT64_MAX};
	struct end_change change = {.hold = &mine};
	int r = -EEXIST;

	if (!held->pinned)
		return 0;
	if (held->ends)
		mine = (struct bucket_end){.until = held->ends, .age = held->hold.age};
	if (conditions)
		r = write_end(c, sha256, &mine, ONCE);
	return r == -EEXIST || r == -EAGAIN ? change_end(c, sha256, &change, conditions) : r;
}

int put_use(struct caller *c, const struct use_row *use, bool conditions)
{
	return change_end(c, use->sha256, &(struct end_change){.used = use->used}, conditions);
}

/* Whether the file of an expired key stays, because another server holds it or has used it. *later: until then. 1, 0;
 * -EBADMSG: the end is malformed, and the key must stay. Others: errors of call_run(). */
static int is_held_elsewhere(struct caller *c, const char *sha256, int64_t *later, struct err *e)
{
	char condition[CONDITION_MOST];
	struct bucket_end end;
	int r = get_end(c, sha256, &end, condition);

	if (r == -EBADMSG)
		return err_set(e, r, "e/%.64s is malformed; delete it if no server holds the file", sha256);
	if (r == 0 && end.until > clock_wall()) {
		*later = end.until;
		return 1;
	}
	return r == -ENOENT ? 0 : r;
}

/* Writes a key object and its reference again, unless another server has written the key meanwhile. */
static int put_back(struct caller *c, const char *sha256, const char *digest, const struct buf *text)
{
	char name[BUCKET_NAME];
	int r = call_put_text(c, bucket_ref_name(sha256, digest, name), NULL, NULL);

	if (r < 0)
		return r;
	bucket_key_name(digest, name);
	r = -EAGAIN;
	for (unsigned i = 0; i < BACK_TRIES && r == -EAGAIN; i++)
		r = call_put_text(c, name, text, ONCE);
	return r == -EEXIST ? 0 : r;
}

/* Ends an expired key; `text`: its key object. *later: as put_end(). */
static int expire_key(struct caller *c, const struct bucket_key *had, const char *digest, const struct buf *text,
	int64_t *later, struct err *e)
{
	int r = is_held_elsewhere(c, had->sha256, later, e), back;
	char name[BUCKET_NAME];

	if (r == 0)
		r = end_all_made(c, had->sha256);
	if (r != 0)
		return MIN(r, 0);
	r = call_delete(c, bucket_key_name(digest, name));
	if (r == -EACCES || r == -EINVAL)
		return r; /* the store refused it */
	if (r == 0)
		r = call_delete(c, bucket_ref_name(had->sha256, digest, name));
	if (r == 0)
		r = is_held_elsewhere(c, had->sha256, later, e);
	if (r == 0)
		return 0;
	/* After an error, too: without the key object a later try would not know the file. */
	back = put_back(c, had->sha256, digest, text);
	return r < 0 ? r : back;
}

static int purge_key(struct caller *c, const struct bucket_key *had, const char *digest)
{
	char name[BUCKET_NAME];
	int r = end_all_made(c, had->sha256);

	if (r == 0)
		r = end_key_object(c, digest, had);
	return r == 0 ? call_delete(c, bucket_end_name(had->sha256, name)) : r;
}

int put_end(struct caller *c, const struct outgone_row *row, int64_t *later, struct err *e)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	struct bucket_key had;
	uint8_t bytes[32];
	int r;

	*later = 0;
	sha256_of(row->canon, strlen(row->canon), bytes);
	hex_print(bytes, sizeof(bytes), digest);
	r = parse_key(call_get_sure(c, bucket_key_name(digest, name), &text), &text, &had);
	if (r == -ENOENT || (r == 0 && had.time > row->ended))
		return 0;
	if (r == -EBADMSG)
		r = end_key_object(c, digest, NULL);
	else if (r == 0)
		r = row->expired ? expire_key(c, &had, digest, &text, later, e) : purge_key(c, &had, digest);
	return r < 0 && !e->text[0] ? err_set(e, r, "a key that ended: %s", call_text(r)) : r;
}

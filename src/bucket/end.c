/* Removes expired and purged keys from a team's bucket, and the files that symfs made of theirs. An expired key stays
 * while another server holds the file, or has renewed it by a use: e/SHA256 has the end that counts for all. */
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

int get_key_object(struct caller *c, const char *name, struct bucket_key *out)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	int r = call_get(c, name, &text);

	if (r == 0 && bucket_key_parse(buf_text(&text), text.n, out) < 0)
		r = -EBADMSG;
	return r == -EFBIG ? -EBADMSG : r;
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

static int get_end(struct caller *c, const char *sha256, struct bucket_end *out)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(END_MOST);
	char name[BUCKET_NAME];
	int r = call_get(c, bucket_end_name(sha256, name), &text);

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

int put_hold(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions)
{
	struct bucket_end mine = {.until = held->ends ? held->ends : INT64_MAX, .age = held->ends ? held->hold.age : 0}, had;
	int r = -EEXIST;

	if (!held->pinned)
		return 0;
	if (conditions)
		r = write_end(c, sha256, &mine, "If-None-Match: *");
	if (r != -EEXIST && r != -EAGAIN)
		return r;
	r = get_end(c, sha256, &had);
	if (r == 0) {
		bucket_end_join(&mine, &had, clock_wall());
		if (mine.until == had.until && mine.age == had.age)
			return 0;
	}
	return r == 0 || r == -ENOENT || r == -EBADMSG ? write_end(c, sha256, &mine, NULL) : r;
}

int put_use(struct caller *c, const struct use_row *use)
{
	struct bucket_end had;
	int r = get_end(c, use->sha256, &had);

	if (r == -ENOENT || r == -EBADMSG)
		return 0;
	return r == 0 && bucket_end_renew(&had, use->used) ? write_end(c, use->sha256, &had, NULL) : r;
}

/* Whether the file of an expired key stays, because another server holds it or has used it. *later: until then. 1, 0;
 * others: errors of call_run(). */
static int is_held_elsewhere(struct caller *c, const char *sha256, int64_t *later)
{
	struct bucket_end end;
	int r = get_end(c, sha256, &end);

	if (r == 0 && end.until > clock_wall()) {
		*later = end.until;
		return 1;
	}
	return r == -ENOENT || r == -EBADMSG ? 0 : r;
}

static int end_file(struct caller *c, const struct bucket_key *had, const char *digest)
{
	char name[BUCKET_NAME];
	int r = end_all_made(c, had->sha256);

	if (r == 0)
		r = end_key_object(c, digest, had);
	return r == 0 ? call_delete(c, bucket_end_name(had->sha256, name)) : r;
}

int put_end(struct caller *c, const struct outgone_row *row, int64_t *later, struct err *e)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	struct bucket_key had;
	uint8_t bytes[32];
	int r;

	*later = 0;
	sha256_of(row->canon, strlen(row->canon), bytes);
	hex_print(bytes, sizeof(bytes), digest);
	r = get_key_object(c, bucket_key_name(digest, name), &had);
	if (r == -ENOENT || (r == 0 && had.time > row->ended))
		return 0;
	if (r == -EBADMSG) {
		r = end_key_object(c, digest, NULL);
	} else if (r == 0) {
		r = row->expired ? is_held_elsewhere(c, had.sha256, later) : 0;
		if (r == 0)
			r = end_file(c, &had, digest);
	}
	return r < 0 ? err_set(e, r, "a key that ended: %s", err_text(r)) : 0;
}

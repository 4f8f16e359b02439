/* Removes expired and purged keys from a team's bucket, and the files that symfs made of theirs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "bucket/pages.h"
#include "bucket/private.h"
#include "source/bucket-key.h"

#include <stdio.h>
#include <string.h>

int get_key_object(struct caller *c, const char *name, struct bucket_key *out)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	int r = call_get(c, name, &text);

	if (r == 0 && bucket_key_parse(buf_text(&text), text.n, out) < 0)
		r = -EBADMSG;
	return r == -EFBIG ? -EBADMSG : r;
}

/* Removes a key object. The reference goes first: a key object without it is found again by a later call. */
static int end_key_object(struct caller *c, const char *digest, const struct bucket_key *had)
{
	char name[BUCKET_NAME];
	int r = had ? call_delete(c, bucket_ref_name(had->sha256, digest, name)) : 0;

	return r == 0 ? call_delete(c, bucket_key_name(digest, name)) : r;
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

int put_end(struct caller *c, const char *canon, int64_t ended, struct err *e)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	struct bucket_key had;
	uint8_t bytes[32];
	int r;

	sha256_of(canon, strlen(canon), bytes);
	hex_print(bytes, sizeof(bytes), digest);
	r = get_key_object(c, bucket_key_name(digest, name), &had);
	if (r == -ENOENT || (r == 0 && had.time > ended))
		return 0;
	if (r == 0)
		r = end_all_made(c, had.sha256);
	if (r == 0)
		r = end_key_object(c, digest, &had);
	else if (r == -EBADMSG)
		r = end_key_object(c, digest, NULL);
	return r < 0 ? err_set(e, r, "a key that ended: %s", err_text(r)) : 0;
}

/* Reads files that symfs makes from a team's bucket. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/made.h"
#include "base/hash.h"
#include "base/util.h"
#include "bucket/private.h"
#include "source/bucket-key.h"
#include "source/s3.h"

#include <stdio.h>
#include <string.h>

static int take_bytes(void *ctx, uint64_t off, const void *p, size_t n)
{
	return draft_write(ctx, off, p, n);
}

static int get_key(struct caller *c, const char *digest, const struct key *k, struct bucket_key *out,
	struct net_reply *reply)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	char name[BUCKET_NAME];
	struct call call = {.name = bucket_key_name(digest, name), .answer = &text,
		.wait_ms = ((const struct s3_opts *)c->source->own)->wait_ms};
	int r = call_run(c, &call);

	*reply = call.reply;
	if (r < 0)
		return r;
	r = bucket_key_parse(buf_text(&text), text.n, out);
	return r == 0 && !key_equal(&out->key, k) ? -EBADMSG : r == -EINVAL ? -EBADMSG : r;
}

static int get_bytes(struct caller *c, const struct bucket_key *found, uint64_t most, struct draft *d,
	struct net_reply *reply)
{
	char name[BUCKET_NAME], is[SHA256_TEXT];
	struct call call = {.name = bucket_blob_name(found->sha256, name), .sink = take_bytes, .sink_ctx = d,
		.most = most};
	int r = call_run(c, &call);

	*reply = call.reply;
	if (r == 0)
		r = sha256_of_fd(draft_fd(d), draft_size(d), is);
	return r == 0 && strcmp(is, found->sha256) != 0 ? -EBADMSG : r;
}

int bucket_get_made(struct net *net, struct sources *so, const struct key *k, const char *url, uint64_t most,
	struct draft *d, atomic_bool *stop, struct net_reply *reply)
{
	struct caller c = {.net = net, .sources = so, .source = bucket_find(so), .stop = stop};
	char digest[SHA256_TEXT];
	struct bucket_key found;
	int r;

	memset(reply, 0, sizeof(*reply));
	if (!c.source || bucket_made_digest(k, url, digest) < 0)
		return -ENOENT;
	pthread_rwlock_init(&c.lock, NULL);
	r = get_key(&c, digest, k, &found, reply);
	if (r == 0)
		r = get_bytes(&c, &found, most, d, reply);
	pthread_rwlock_destroy(&c.lock);
	return r;
}

/* The kind "bucket": the bucket that several servers of a team share. It is asked before all other sources. A request
 * first gets the small key object, which names the object that has the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "source/bucket-key.h"
#include "source/kinds.h"
#include "source/s3.h"

#include <stdio.h>
#include <string.h>

#define MISS_SECONDS 1	/* a miss is remembered this long: another server may put the file there at any time */
#define STALL_MS 5000	/* the longest time without a byte of a file */

static const struct layout_row no_rows[] = {{0}};

const struct layout source_keyed = {"bucket", "bucket", "", "digests of keys", no_rows};

static int bucket_init(struct source *s, const struct conf_section *c, struct err *e)
{
	struct s3_opts *o = s->own;
	int r = s3_init(s, c, e);

	if (!s->o.miss_seconds)
		s->o.miss_seconds = MISS_SECONDS;
	if (!s->o.stall_ms)
		s->o.stall_ms = STALL_MS;
	if (!s->o.connect_ms)
		s->o.connect_ms = o->wait_ms;
	return r;
}

static int bucket_ask(const struct source *s, const char *name, const char *what, struct source_ask *out)
{
	snprintf(out->spelling, sizeof(out->spelling), "%s", what);
	if (asprintf(&out->where, "%s/%s", s->o.url, name) < 0)
		out->where = NULL;
	return out->where ? 0 : -ENOMEM;
}

/* Plans the request for the bytes, when the key object is known; else the requests for key objects. A file that is
 * stored by id and name comes before the file that is stored by the id alone. */
static int bucket_plan(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct source_ask *out)
{
	const struct s3_opts *o = s->own;
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	struct key k, named;
	int r;

	if (!source_allows(s, a) || key_of(&k, a) < 0)
		return -ENOENT;
	if (facts && facts->blob[0])
		return nth ? -ENOENT : bucket_ask(s, bucket_blob_name(facts->blob, name), "bytes", out);
	if (key_by_name(&k, &named) && nth == 0)
		k = named;
	else if (nth > (unsigned)key_by_name(&k, &named))
		return -ENOENT;
	bucket_key_digest(&k, digest);
	r = bucket_ask(s, bucket_key_name(digest, name), "key", out);
	out->ptr = out->leads = true;
	out->wait_ms = o->wait_ms;
	return r;
}

/* A bucket that does not answer is asked again after a second, then after two, and so on: it belongs to the team, and
 * each trial costs no more than the short timeout. */
static void bucket_judge(const struct source *s, const struct net_reply *r, struct judgement *out)
{
	s3_judge(s, r, out);
	if (r->error == -ETIMEDOUT)
		out->blame = BLAME_CHEAP;
}

static void bucket_show(const struct source *s, struct buf *out)
{
	const struct s3_opts *o = s->own;

	s3_show(s, out);
	buf_addf(out, "read-only = %s\n", o->read_only ? "yes" : "no");
	buf_addf(out, "timeout = %ums\n", o->wait_ms);
}

const struct source_kind source_bucket = {
	.name = "bucket",
	.layout = "bucket",
	.first = true,
	.shares = &source_s3,
	.fields = s3_fields,
	.size = sizeof(struct s3_opts),
	.init = bucket_init,
	.plan = bucket_plan,
	.show = bucket_show,
	.sign = s3_sign,
	.judge = bucket_judge,
};

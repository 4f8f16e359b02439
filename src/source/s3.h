/* The options of stores with the S3 API, and the signing of requests to them. Shared by the kinds "s3" and
 * "bucket"; used by source/ and bucket/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "source/source.h"

#include <stdatomic.h>

struct s3_opts {
	char *bucket, *prefix, *endpoint, *region, *style;
	char *access_key, *secret_key, *session_token, *profile;
	bool anonymous;
	bool read_only;	  /* of a team's bucket: this symfs never writes to it */
	unsigned wait_ms; /* of a team's bucket: how long a small request may take */
	/* The store's clock minus this machine's, in seconds, once the store refused a request for its date. */
	atomic_llong skew;
	atomic_ullong skew_set; /* clock_ms() when `skew` changed; 0: never */
};
extern const struct conf_field s3_fields[];

/* Functions of struct source_kind. */
int s3_init(struct source *s, const struct conf_section *c, struct err *e);
int s3_sign(const struct source *s, struct net_req *out);
void s3_judge(const struct source *s, const struct net_reply *r, struct judgement *out);
void s3_show(const struct source *s, struct buf *out);

int s3_prefix(const struct source *s, struct buf *out); /* adds "/PREFIX" as in s->o.url; 0, -ENOMEM, -EFBIG */

/* Signs a request with a body, whose SHA-256 is `digest` (64 hex digits; NULL: no body). 0, -ENOMEM; -EACCES: there
 * are no credentials. */
int s3_sign_body(const struct source *s, const char *digest, struct net_req *out);

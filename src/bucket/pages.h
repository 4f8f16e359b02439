/* Listings of a bucket: the objects below a name such as "b/", one after the other. For src/bucket/ and its tests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "bucket/call.h"

#define LIST_NAME 1100 /* the protocol's limit of names is 1024 bytes */
#define LIST_MOST (8u << 20) /* bytes of one answer, which has at most 1,000 objects */
#define PAGE_MOST 1000 /* objects in one answer */

#define PROBES "probe/" /* objects of probe_conditions(), each with a random name of PROBE_DIGITS digits */
#define PROBE_DIGITS 32

struct list_entry {
	char name[LIST_NAME]; /* with the bucket's prefix */
	uint64_t size;
	int64_t modified; /* seconds since 1970 */
};

/* Calls `each` for each object, until it returns non-zero; returns that value. `token` gets the word with which the
 * listing continues; "": it is complete. 0; -EBADMSG: malformed, an object without a name, size or time, or an answer
 * that does not say whether it is complete. */
int list_parse(const char *text, size_t n, int (*each)(void *ctx, const struct list_entry *e), void *ctx,
	char token[static LIST_NAME]);

/* One object, without the prefix and what was listed. */
struct page_item {
	char sha256[SHA256_TEXT]; /* of a probe: its name */
	char second[SHA256_TEXT]; /* the digest after a slash; "": none */
	uint64_t size;
	int64_t modified;
};

struct listing {
	struct caller *c;
	const char *what;   /* "b/" */
	unsigned page;	    /* objects in the next answer; may be lowered for the first one */
	struct page_item *items; /* room for PAGE_MOST */
	unsigned n, at;
	unsigned empty;	    /* pages without an object of symfs since the last such object */
	char token[LIST_NAME], last[LIST_NAME]; /* `last`: the name before */
	bool over;
	bool probes;	    /* what is listed has names of PROBE_DIGITS digits; set it after listing_open() */
	int64_t now; /* the store's clock, at the last answer */
};

/* Begins to list the objects below `what`, which the caller keeps. Sends no request yet. 0, -ENOMEM. */
int listing_open(struct listing *l, struct caller *c, const char *what);
/* The next object, in the order of names, valid until the next call; NULL: no more. Objects that symfs did not name
 * are left out. 0; others: errors of call_run(). (waits) */
int listing_next(struct listing *l, const struct page_item **out);
/* whether there is an object. 1, 0; others: errors of call_run() */
int listing_any(struct caller *c, const char *what);
void listing_close(struct listing *l);
#define _cleanup_listing_ _cleanup_(listing_close)

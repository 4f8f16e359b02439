/* What the index says of one thing each: a key and its file, a miss, a file with holes, and the sums of
 * all. Plain values, which the calls of store.h and sparse.h give to their callers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/key.h"
#include "store/files/blob.h"

#define STORE_FOR_GOOD INT64_MAX /* kept until it is removed: pinned */
#define SPARSE_TAG_MAX 256

struct store_row {
	int64_t id; /* grows; a row's number never comes back */
	struct key key;
	char sha256[SHA256_TEXT];
	uint64_t size;
	int64_t used; /* wall clock */
	int64_t keep_until; /* not evicted before; STORE_FOR_GOOD: pinned */
	struct blob_facts facts;
};

struct store_miss_row {
	struct key key;
	char source[64];
	int64_t since, until;
	int64_t asked; /* how often it was asked for: store_misses_asked() */
};

struct store_totals {
	uint64_t artifacts, keys, bytes, misses, drafts;
	uint64_t sparse, sparse_bytes; /* files with holes (sparse.h), and what they take on the disk */
	uint64_t pinned, pinned_bytes; /* of the artifacts: these are not evicted */
};

/* Which version of a file a server sends. Two validators are the same when size, source and ETag are, or, where
 * neither has an ETag, size, source and date. A weak ETag (W/...) promises no bytes and does not count. Without
 * ETag and date a validator is the same as no other. */
struct sparse_validator {
	uint64_t size;
	char source[64];
	char etag[SPARSE_TAG_MAX]; /* with its quotes, as it came */
	char last_modified[64];
};

struct store_sparse_row {
	int64_t id;
	struct key key;
	char name[17];
	struct sparse_validator validator;
	char url[2048];
	uint64_t present;   /* bytes that are there, committed */
	uint64_t allocated; /* bytes on disk: these count for the quota */
	int64_t used, since;
};

/* Rows of the index as plain values: a key and its file, a miss, a sparse file, and the totals. The functions
 * of store.h and sparse.h return them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/key.h"
#include "store/files/blob.h"
#include "store/files/hold.h"

#define STORE_FOR_GOOD INT64_MAX /* pinned: kept until the user removes it */
#define SPARSE_TAG_MAX 256

struct store_row {
	int64_t id; /* ascending; the number of a dropped row is never reused */
	struct key key;
	char sha256[SHA256_TEXT];
	uint64_t size;
	int64_t used; /* wall clock */
	int64_t keep_until; /* no eviction before this time; STORE_FOR_GOOD: pinned */
	struct hold_state held; /* of a pinned file */
	struct blob_facts facts;
};

/* A key whose file was here, and expired or was purged. */
struct store_tomb {
	struct key key;
	int64_t when; /* wall clock */
	char why[200]; /* "expired: class try, 30 days without a use" */
};

#define STORE_MISS_UNLISTED "a further meaning of a path" /* a reason; see store_miss_add() */
struct store_miss_row {
	struct key key;
	char source[64];
	int64_t since, until;
	int64_t asked; /* the number of requests: store_misses_asked() */
};

/* A file that the bucket does not have yet. */
struct outbox_row {
	int64_t object, change; /* the file, and how often it got another key while it was queued */
	unsigned tries;		/* uploads that failed */
	int64_t since;		/* wall clock */
	char sha256[SHA256_TEXT];
	uint64_t size;
	struct worth worth;
	struct hold_state held;
};

/* A key whose file expired or was purged here, and that the bucket may still have. */
struct outgone_row {
	char canon[KEY_TEXT];
	int64_t ended; /* wall clock */
	bool expired;  /* not purged: a use on another server may have renewed the file */
};

/* A use of a file, of which the bucket was not told. */
struct use_row {
	int64_t object;
	int64_t used; /* wall clock */
	char sha256[SHA256_TEXT];
};

struct outbox_totals {
	uint64_t files, bytes;
	uint64_t failed; /* files of which an upload failed */
	uint64_t lost;	 /* files that left the store before the bucket had them */
	int64_t oldest;	 /* wall clock; 0: the queue is empty */
};

struct store_totals {
	uint64_t artifacts, keys, bytes, misses, drafts;
	uint64_t sparse, sparse_bytes; /* sparse files (sparse.h), and their size on disk */
	uint64_t pinned, pinned_bytes; /* the pinned artifacts, which are not evicted */
	uint64_t quota; /* as in store_opts */
};

/* Identifies the version of a file that a server sends. Two validators match if size, source and ETag are equal.
 * If neither has an ETag, size, source and date must be equal. A weak ETag (W/...) does not guarantee equal
 * bytes and counts as absent. A validator without ETag and date matches no other validator. */
struct sparse_validator {
	uint64_t size;
	char source[64];
	char etag[SPARSE_TAG_MAX]; /* with its quotes, as the server sent it */
	char last_modified[64];
};

struct store_sparse_row {
	int64_t id;
	struct key key;
	char name[17];
	struct sparse_validator validator;
	char url[2048];
	uint64_t present;   /* bytes that are present and committed */
	uint64_t allocated; /* bytes on disk: these count for the quota */
	int64_t used, since;
};

/* A team's bucket, written by a server: threads upload the files of the store's outbox (store/outbox.h), behind the
 * answers to clients. Reading is the work of fetch/, for which the bucket is a source. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "source/sources.h"
#include "store/outbox.h"

struct bucket;

/* Whether the sources contain a bucket that may be written. */
bool bucket_is_writable(const struct sources *so);

/* Starts to upload. Keeps a reference of `so`; the store is the caller's, and must outlive the bucket. 0; -ENOENT:
 * the sources have no bucket that may be written, and nothing is uploaded. (waits for the disk) */
int bucket_start(struct bucket **out, struct store *st, struct sources *so, struct err *e);
/* Takes new credentials and settings after a reload. 0; -EINVAL: the sources have another bucket, or none that may be
 * written: a restart is needed. */
int bucket_renew(struct bucket *b, struct sources *so);
/* Ends the uploads under way; they begin anew with the next start. NULL is fine. (waits) */
void bucket_stop(struct bucket *b);

/* Waits until the bucket has the stored file of a key. 0; -ETIMEDOUT: not within `ms`; the file stays queued.
 * -EHOSTUNREACH: the store does not answer: the file stays queued, and the call does not wait until the store is
 * tried again. -ECANCELED: the bucket stops. (waits) */
int bucket_wait(struct bucket *b, const struct key *k, unsigned ms);

/* Whether the bucket's file under a key is one that any server has by `symfs add`. 1, 0. Others: the bucket does not
 * answer. (waits) */
int bucket_added(struct bucket *b, const struct key *k);
/* Removes a file that the bucket may have under a key, and this store does not: the removal is queued as that of a
 * stored file, and goes to all keys of the file. `found`: the key by which the bucket has it. 0: it is queued.
 * -ENOENT: the bucket does not have the key. Others: it does not answer, and nothing is queued. (waits) */
int bucket_purge(struct bucket *b, const struct key *k, const char *why, struct key *found);
/* Waits until the queued removal of a key is done. 0. -ETIMEDOUT: not within `ms`; -EHOSTUNREACH: the bucket does not
 * answer, or refuses: the removal stays queued. (waits) */
int bucket_wait_end(struct bucket *b, const struct key *k, unsigned ms);

struct bucket_stats {
	struct outbox_totals queue;
	uint64_t files, bytes; /* uploaded since the start */
	uint64_t requests, failures;
	int conditions; /* 1: the store honours conditions; 0: it ignores them; -1: not known yet */
	char state[200]; /* "ok", or the last error */
};
void bucket_stats(struct bucket *b, struct bucket_stats *out);

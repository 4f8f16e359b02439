/* The queue of files that a team's bucket does not have yet. It is part of the index, so it survives the process: a
 * file is queued in the transaction that publishes it. A queued file is not evicted while the queue has at most half
 * of the quota. Any thread; every call waits for the disk. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/store.h"

/* Begins to queue files for the bucket, which is named by its URL. If the store had another bucket, or none, all of
 * its files are queued. 0, -errno. */
int store_outbox_open(struct store *s, const char *bucket);

/* Files that are due now, with numbers above `after`, at most n. Returns their number. -ENOTSUP: the index was
 * rebuilt: call store_outbox_open() again. */
int store_outbox_next(struct store *s, int64_t after, struct outbox_row *rows, unsigned n);
/* Calls `each` with the keys of a file, until it returns non-zero; returns that value. 0, -errno. */
int store_outbox_keys(struct store *s, const struct outbox_row *row,
	int (*each)(void *ctx, const struct key *k, const struct blob_facts *facts), void *ctx);
/* The bucket has the file under all keys that it had when `row` was read. 0, -errno. */
int store_outbox_done(struct store *s, const struct outbox_row *row);
bool store_outbox_lists(struct store *s, const struct outbox_row *row); /* whether the file is still queued */
int store_outbox_later(struct store *s, const struct outbox_row *row, int64_t seconds); /* try again after that */
int store_outbox_keep(struct store *s); /* renews the time until which queued files are not evicted */

/* A key whose file was purged or expired (store_purge(), store_expire()), and that the bucket may still have: the
 * first one that is due, and whose text sorts after `after`. 0, -ENOENT, -errno. */
int store_outgone_next(struct store *s, const char *after, struct outgone_row *out);
/* Whether a removal of the key with this key_canon() is queued, or may be. */
bool store_outgone_has(struct store *s, const char *canon);
int store_outgone_done(struct store *s, const struct outgone_row *row);
int store_outgone_later(struct store *s, const struct outgone_row *row, int64_t due); /* wall clock */

/* A use of a file that is not pinned here, but that another server may hold. Such a use is noted when the file came
 * from the bucket, and then at most once a day. 0, -ENOENT, -errno. */
int store_uses_next(struct store *s, struct use_row *out);
int store_uses_done(struct store *s, const struct use_row *row);

/* Whether the file of the key is queued. Also true if the index cannot be read, or was rebuilt: then it may be. */
bool store_outbox_has(struct store *s, const struct key *k);
/* Queues the stored file of a key for the bucket once more. 0, also if the store has no file of the key; -errno. */
int store_outbox_add(struct store *s, const struct key *k);
int store_outbox_count(struct store *s, struct outbox_totals *out); /* 0, -errno; zeroes: no queue */
/* Opens the bytes of a queued file. 0; -ENOENT: it has left the store. */
int store_outbox_read(struct store *s, const struct outbox_row *row, int *fd);

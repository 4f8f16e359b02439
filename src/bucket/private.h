/* What the files of bucket/ share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "bucket/bucket.h"
#include "bucket/call.h"
#include "bucket/made.h"
#include "source/bucket-key.h"

#define ONCE "If-None-Match: *" /* the store then writes an object only if it has no object of that name */

/* put.c: uploads one file: first its end, then the references, its bytes, and its key objects. `conditions`: the
 * store honours If-None-Match. *sent: bytes that were sent. 0. -EUCLEAN: the file cannot be read from the server's
 * own store, which says nothing about the bucket. -EBUSY: another server removes one of its keys all the time.
 * Others: errors of call_run(), with a text in `e`. Repeating it changes nothing. */
int put_file(struct caller *c, struct store *st, const struct outbox_row *row, bool conditions, uint64_t *sent,
	struct err *e);

/* removal.c: removes an expired key from the bucket, and what was made of its file, unless an upload of the file is
 * newer than the end, or another server holds or uses the file: *later is the time of its end, by the own clock
 * (INT64_MAX: never), else 0. -EBADMSG: the end e/ is malformed, and the key stays. Others as put_file(). */
int put_end(struct caller *c, const struct outgone_row *row, int64_t *later, struct err *e);
/* removal.c: removes the file of a purged key from the bucket, under all of its keys, and what was made of it. Keys
 * whose upload is newer stay. The rows of these keys leave the queue. 0; others as put_file(). */
int put_purge(struct caller *c, struct store *st, const struct outgone_row *row, struct err *e);

#define REMOVAL_BROKEN 60 /* seconds by the store's clock: an older mark is one of a removal that was broken off */
/* removal.c: ends a removal that was broken off: the key goes, or is written again if a server holds its file. */
int removal_settle(struct caller *c, const char *digest, const char *word);

/* end.c: tells the bucket until when a pinned file is held, if that is later than the bucket knows. 0; others: errors
 * of call_run(). `conditions`: as put_file(). */
int put_hold(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions);
/* end.c: as put_hold(), but reads the end first: after the keys were written, it is usually there. */
int put_hold_again(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions);
/* end.c: whether the file of an expired key stays, because another server holds it or has used it. *later: until
 * then, by the own clock. 1, 0; -EBADMSG: the end is malformed, and the key must stay. Others: errors of
 * call_run(). */
int end_is_held(struct caller *c, const char *sha256, int64_t *later, struct err *e);
/* end.c: the highest hold that a server has on the file. 0; others: errors of call_run(). */
int end_rank(struct caller *c, const char *sha256, enum hold_rank *out);
/* end.c: removes the end of a file that has no reference. 0; others: errors of call_run(). */
int end_drop(struct caller *c, const char *sha256);
/* end.c: renews the end of a file that any server holds, after a use here. 0 also if no server holds it. */
int put_use(struct caller *c, const struct use_row *use, bool conditions);

/* removal.c: removes one file that was made of the file `input`. `digest`: its KEYDIGEST. 0; others: errors of
 * call_run(). */
int end_made(struct caller *c, const char *input, const char *digest);

#define CONDITION_MOST 160 /* "If-Match: ETAG" */
/* removal.c: what the bucket has under a key. 0; -ENOENT; -EBADMSG: a malformed key object. Others: errors of
 * call_run(). `condition`: the header under which a write replaces just this object; "": the store named no
 * version. */
int get_key_version(struct caller *c, const char *name, struct bucket_key *out,
	char condition[static CONDITION_MOST]);

/* probe.c: whether the store honours If-None-Match. 1, 0; others: errors of call_run(), with a text in `e`. */
int probe_conditions(struct caller *c, struct err *e);

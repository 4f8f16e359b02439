/* What the files of bucket/ share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "bucket/bucket.h"
#include "bucket/call.h"
#include "bucket/made.h"
#include "source/bucket-key.h"

/* put.c: uploads one file: first its end, then the references, its bytes, and its key objects. `conditions`: the
 * store honours If-None-Match. *sent: bytes that were sent. 0. -EUCLEAN: the file cannot be read from the server's own
 * store, which says nothing about the bucket. Others: errors of call_run(), with a text in `e`. Repeating it changes
 * nothing. */
int put_file(struct caller *c, struct store *st, const struct outbox_row *row, bool conditions, uint64_t *sent,
	struct err *e);

/* end.c: removes an expired or purged key from the bucket, and what was made of its file, unless the file that the key
 * has there is newer than the end. An expired key stays while another server holds or uses its file: *later is the
 * time of its end, by the wall clock (INT64_MAX: never), else 0. -EBADMSG: the end e/ is malformed, and the key
 * stays. Others as put_file(). */
int put_end(struct caller *c, const struct outgone_row *row, int64_t *later, struct err *e);

/* end.c: tells the bucket until when a pinned file is held, if that is later than the bucket knows. 0; others: errors
 * of call_run(). `conditions`: as put_file(). */
int put_hold(struct caller *c, const char *sha256, const struct hold_state *held, bool conditions);
/* end.c: renews the end of a file that any server holds, after a use here. 0 also if no server holds it. */
int put_use(struct caller *c, const struct use_row *use, bool conditions);

/* end.c: removes one file that was made of the file `input`. `digest`: its KEYDIGEST. 0; others: errors of call_run(). */
int end_made(struct caller *c, const char *input, const char *digest);

/* end.c: what the bucket has under a key. 0; -ENOENT; -EBADMSG: a malformed key object. Others: errors of call_run(). */
int get_key_object(struct caller *c, const char *name, struct bucket_key *out);

/* probe.c: whether the store honours If-None-Match. 1, 0; others: errors of call_run(), with a text in `e`. */
int probe_conditions(struct caller *c, struct err *e);

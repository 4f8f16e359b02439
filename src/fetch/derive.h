/* Files that are made of others: GSYM of debug files, by workers that may crash (convert/worker.h). Made
 * once however many ask and in however many processes, stored under the identity of what they are
 * made of. What cannot be made is remembered, with the reason. Any thread; nobody waits in a call. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch.h"

struct derive;
struct making;

/* The fetch and its store must be there until derive_stop(), the store until derive_free(). 0, -errno. */
int derive_new(struct derive **out, struct fetch *f);
/* Nobody is asked from now on, what is being made is given up, and who waits is called back soon. */
void derive_stop(struct derive *d); /* NULL is fine */
/* The same, and waits until all were called back; ends its threads. NULL is fine. */
void derive_free(struct derive *d);

/* What would be made of `input`, a file of any type that GSYM is made of, `object`: the form
 * that lies in an object file. 0, -ENOENT: nothing is made of such files, or it lacks an identifier. */
int derive_artifact(const struct artifact *input, bool object, struct artifact *out);

/* The same for look-ups of ours, also of Portable PDBs: convert/eliot.h, convert/from-ppdb.h. Such a file is for
 * nobody else. `lenient`, only for Breakpad files: a bad line costs that line, not the file. */
int derive_exact(struct derive *d, const struct artifact *input, bool lenient, struct artifact *out);

/* The name of what is made: of an `a` of the above. 0, -ENOENT. */
int derive_key(const struct artifact *a, struct key *out);

/* 0: `f` is the answer, and f->blob the caller's; f->r is -ENOENT, -EBADMSG or -ETIMEDOUT when it was
 * tried not long ago, and there is nothing to make it of, that is broken, or it took too long. -EAGAIN: it is not here. Starts no
 * traffic. */
int derive_try(struct derive *d, const struct artifact *a, struct fetched *f);

/* Gets what it is made of, and makes it; `ready` as with fetch_open(), also of errors: of getting it,
 * or -EBADMSG, -ETIMEDOUT, -EINTR. `*out` is written before `ready` can run, and the caller's until
 * making_unref(). 0, -ENOMEM, -ENOENT as derive_artifact(). */
int derive_open(struct derive *d, const struct artifact *a, fetch_ready *ready, void *ctx,
	struct making **out);

/* I stopped waiting: makes ready(-EINTR) run, now, unless it ran. The last to leave ends the worker. */
void making_cancel(struct making *m);
void making_unref(struct making *m); /* NULL is fine */

/* Files that are made of others: GSYM of debug files, by workers that may crash (gsym/worker.h). Made
 * once however many ask, stored under the identity of what they are made of. What cannot be made is
 * remembered, with the reason. Any thread; nobody waits in a call. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "id/key.h"
#include "store/store.h"

struct derive;

/* The store must outlive it. 0, -errno. */
int derive_new(struct derive **out, struct store *st);
/* Ends the workers, calls back who waits, ends its threads. NULL is fine. */
void derive_free(struct derive *d);

/* What it can be made of, best first, and the key that it is stored under. `m` names an ELF file; 0
 * of what it cannot be made of. */
#define DERIVE_INPUTS 2
unsigned derive_inputs(const struct module *m, struct artifact out[static DERIVE_INPUTS]);
int derive_key(const struct module *m, struct key *out); /* 0, -ENOENT */

/* 0: it is here, and *out the caller's. -EAGAIN: it is not. -ENOENT, -EBADMSG: it was tried not long
 * ago, there is nothing to make it of, or that is broken. */
int derive_find(struct derive *d, const struct key *k, struct blob **out);

/* Once: on a thread of its own. It must not wait. `b` is borrowed; NULL when r < 0: -ENOENT and
 * -EBADMSG as above, -EINTR: the end; others are errors here. `why` is words. */
typedef void derive_done(void *ctx, int r, struct blob *b, const char *why);

/* Makes it of `in`. 0: done will be called; -ENOMEM. */
int derive_start(struct derive *d, const struct key *k, struct blob *in, derive_done *done, void *ctx);

/* Many questions under way, and a thread that waits for all of them. Answers may come when nobody waits
 * any more, so what they are put into goes with the last who has it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/derive.h"
#include "fetch/fetch.h"

#include <stdatomic.h>

struct waits {
	pthread_mutex_t lock;
	pthread_cond_t change;
	/* under lock */
	unsigned refs, pending;
	struct question *done; /* those whose answer nobody took, the last first */
};

/* One question, and its answer: of the one who asked, and until it came of the one who answers. */
struct question {
	struct waits *w;
	struct ticket *ticket; /* of whichever it is that was asked */
	struct making *making;
	void *of;     /* the asker's */
	double begun; /* seconds, monotonic */
	/* under the lock of `w`, until it is done */
	unsigned refs;
	bool done;
	struct question *before; /* that was answered, too */
	int r;
	struct blob *blob;
	struct key key;
	double ended;
	char why[200];
};

struct waits *waits_new(void); /* NULL: out of memory */
void waits_unref(struct waits *w);

struct question *question_new(struct waits *w); /* NULL: out of memory */
void question_unref(struct question *q);	/* NULL is fine */
void question_cancel(struct question *q);	/* the same, and nobody is to answer */

/* A fetch_ready. */
void question_answered(void *ctx, const struct fetched *f);
void question_fail(struct question *q, int r);
/* Asks for a whole file; whether it was not here. */
bool question_fetch(struct question *q, struct fetch *f, const struct artifact *cands, unsigned n);

/* One that was answered, and was not told before; NULL: there is none, and none is pending. Who asks this
 * drops no question before he was told of it, unless he asks no more. 0; -EINTR: `stop`, or `gone`, which
 * may be NULL. */
int wait_next(struct waits *w, const atomic_bool *stop, const atomic_bool *gone, struct question **out);

/* Until nothing is pending. -EINTR: `stop`, which may be NULL. */
int wait_all(struct waits *w, const atomic_bool *stop);

/* Questions to fetch/ and derive/, and one thread that waits for their answers. An answer may come
 * after that thread has left, so questions are reference-counted. */
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
	struct question *done; /* answers that wait_next() has not returned yet, the latest first */
};

/* One question and its answer. The caller has one reference, and the callback that answers has another. */
struct question {
	struct waits *w;
	struct ticket *ticket; /* of a question to fetch/, or */
	struct making *making; /* of a question to derive/, or */
	struct partial *partial; /* of derive_partial() */
	void *of;     /* free for the caller's use */
	double begun; /* seconds, monotonic */
	/* under the lock of `w`, until `done` */
	unsigned refs;
	bool done;
	struct question *before; /* the next answer in w->done */
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
void question_cancel(struct question *q);	/* like question_unref(), and cancels the work; NULL is
						   fine */

/* Stores the answer: a callback of the type fetch_ready. */
void question_answered(void *ctx, const struct fetched *f);
void question_fail(struct question *q, int r);
/* Requests a whole file from fetch/. True: the file was not in the store. */
bool question_fetch(struct question *q, struct fetch *f, const struct artifact *cands, unsigned n);

/* Waits for the next answered question; `*out` is NULL when none is pending. Do not release a question
 * before wait_next() returned it, unless you no longer call wait_next(). 0; -EINTR: `*stop` or `*gone`
 * became true (both may be NULL). */
int wait_next(struct waits *w, const atomic_bool *stop, const atomic_bool *gone, struct question **out);

/* Waits until no question is pending. 0; -EINTR: `*stop` became true (may be NULL). */
int wait_all(struct waits *w, const atomic_bool *stop);

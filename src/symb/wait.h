/* Questions to fetch/ and derive/, and one thread that waits for their answers. An answer can come
 * after that thread has stopped waiting, so questions are reference-counted. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "derive/derive.h"
#include "fetch/fetch.h"

#include <stdatomic.h>

struct waits {
	pthread_mutex_t lock;
	pthread_cond_t change;
	/* under lock */
	unsigned refs, pending;
	struct question *done; /* answered questions that wait_next() has not returned yet, the latest first */
};

/* One question and its answer. The caller has one reference, and the callback that answers has another. */
struct question {
	struct waits *w;
	struct ticket *ticket; /* of a question to fetch/; otherwise NULL */
	struct making *making; /* of a conversion by derive_open(); otherwise NULL */
	struct partial *partial; /* of derive_partial(); otherwise NULL */
	void *of;     /* free for the caller's use */
	double begun; /* when the question was asked: seconds, monotonic */
	/* under the lock of `w`, until `done` */
	unsigned refs;
	bool done;
	struct question *before; /* the next question in the list w->done, answered before this one */
	int r;
	struct blob *blob;
	struct key key;
	double ended;
	char why[320];
};

struct waits *waits_new(void); /* NULL: out of memory */
void waits_unref(struct waits *w);

struct question *question_new(struct waits *w); /* NULL: out of memory */
void question_unref(struct question *q);	/* NULL is fine */
void question_cancel(struct question *q);	/* like question_unref(), and cancels the work; NULL is
						   fine */

/* A callback of the type fetch_ready: stores the answer in the question `ctx`. */
void question_answered(void *ctx, const struct fetched *f);
/* Answers the question with the error `r`. */
void question_fail(struct question *q, int r);
/* Requests a whole file from fetch/. True: the file was not in the store. */
bool question_fetch(struct question *q, struct fetch *f, const struct artifact *cands, unsigned n);

/* Waits for the next answered question; `*out` is NULL when no question is pending. As long as you call
 * wait_next(), release a question only after wait_next() has returned it. 0; -EINTR: `*stop` or `*gone` became
 * true (`stop` and `gone` may be NULL). */
int wait_next(struct waits *w, const atomic_bool *stop, const atomic_bool *gone, struct question **out);

/* Waits until no question is pending. 0; -EINTR: `*stop` became true (`stop` may be NULL). */
int wait_all(struct waits *w, const atomic_bool *stop);

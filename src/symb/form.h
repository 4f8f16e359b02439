/* The JSON of Mozilla's symbolication service, "v4" and "v5", with extensions, above the values of symb.h. Takes the
 * body of a request, and returns an HTTP status and an answer. http/ and the command supply the body.
 *
 * A small pool of threads serves HTTP well, because an answer from mapped files takes a millisecond. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"
#include "symb/symb.h"

/* A version of the API, a row of symb_apis. */
struct symb_api {
	const char *name; /* "v5" */
	const char *path; /* "/symbolicate/v5" */
	const char *help;
	bool jobs; /* a request may have several jobs */
};
extern const struct symb_api symb_apis[]; /* ends with a NULL name */
const struct symb_api *symb_api_find(const char *name); /* NULL: no such version */

/* Returns the HTTP status: 200; 400: the request is not valid, or has too many jobs; 413: it is over another limit;
 * 500: out of memory; 503: stopped. `out` gets the body: JSON, which names the reason of another status than 200.
 * With flags->text it gets text for people, safe for a terminal. `out->most` must be large enough: SYMB_REPLY_MOST
 * is. `flags` may be NULL. Blocks. */
#define SYMB_REPLY_MOST ((size_t)1 << 30)
int symb_answer(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out);

/* symb_answer() for threads that must not wait: answers if the request is small, and the files of all its modules are
 * mapped already. -EAGAIN: the answer would wait or take long; call symb_answer(). */
int symb_try(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out);

/* The HTTP status of 0 or -errno, of symb_load() and of what is read or written for it. */
int symb_status(int r);

/* Writes the answer of v5 to a request that is loaded. 0, -ENOMEM, -EFBIG. */
int symb_write(struct symb_request *q, struct buf *out);

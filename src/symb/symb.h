/* Stacks in, names out: the requests and answers of Mozilla's symbolication service, "v4" and "v5",
 * and what of it is our own. Bytes of a request in, a status and JSON out; whoever speaks HTTP, or
 * has a file, does so above.
 *
 * symb_answer() waits: for files that are fetched and converted, which takes from nothing at all to
 * as long as fetch/ and derive/ allow. It is for threads of the caller that may wait, as many at
 * once as the caller likes (a small pool of them serves HTTP well: warm answers take a millisecond).
 * Modules of all requests share what was found, so that many who ask for one thing cost one
 * download, one conversion and one mapping. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch;
struct symb;

/* Bounds of one request; a request that is past one of them is refused. 0 in any of them means the
 * number that symb_limits_default has there. */
struct symb_limits {
	uint64_t bytes;	 /* of the body: 413 */
	unsigned jobs;	 /* 400, as the service itself says it */
	unsigned modules; /* of all jobs together: 413, as for the rest */
	unsigned stacks;
	unsigned frames;
};
extern const struct symb_limits symb_limits_default;

/* The fetch stays the caller's and must outlive it. `limits` may be NULL. 0, -errno. */
int symb_new(struct symb **out, struct fetch *f, const struct symb_limits *limits, struct err *e);
/* From now on waiting answers end soon, with status 503. Any thread, never waits. */
void symb_stop(struct symb *s);
/* When no thread is in symb_answer() any more. NULL is fine. */
void symb_free(struct symb *s);

/* A version of the API: a row. */
struct symb_api {
	const char *name; /* "v5" */
	const char *path; /* "/symbolicate/v5" */
	const char *help;
	bool jobs; /* a request may have several jobs */
};
extern const struct symb_api symb_apis[]; /* ends with a NULL name */
const struct symb_api *symb_api_find(const char *name); /* NULL: no such version */

/* What a request may ask for beside its body. */
struct symb_flags {
	bool debug;	    /* v5: "debug" beside "results": cache hits, downloads, times */
	bool lenient;	    /* a bad line of a Breakpad file costs that line, not the file */
	bool demangle;	    /* names of C++ and Rust as people read them */
	bool function_size; /* v5: "function_size" in each frame that has a function */
	bool module_errors; /* v5: "module_errors" beside "found_modules": why a module was not found */
	const atomic_bool *gone; /* becomes true when nobody waits for the answer any more; NULL */
};

/* The HTTP status: 200, 400, 413, 500 (out of memory), 503 (stopped). `out` gets the body, JSON in
 * any case; its `most` must be large enough, SYMB_REPLY_MOST is. (waits) */
#define SYMB_REPLY_MOST ((size_t)1 << 30)
int symb_answer(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out);

/* Counters since symb_new(), for /metrics; the table names them. Any thread. */
struct symb_stat_row {
	const char *name, *help;
	size_t index;
};
extern const struct symb_stat_row symb_stat_rows[]; /* ends with a NULL name */
uint64_t symb_stat(const struct symb *s, const struct symb_stat_row *row);

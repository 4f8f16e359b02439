/* Symbolicates stacks: the API of Mozilla's symbolication service, "v4" and "v5", with extensions. It takes
 * the body of a request and returns an HTTP status and JSON. http/ and the command supply the body.
 *
 * symb_answer() waits for files to be fetched and converted, as long as fetch/ and derive/ allow. Call it on
 * threads that may block, any number at the same time. A small pool of threads serves HTTP well, because an
 * answer from mapped files takes a millisecond. Requests share modules, so many requests for one module cost
 * one download, one conversion and one mapping. */
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
struct module;
struct symb;

/* Limits of one request. A request over a limit is refused with the HTTP status in the limit's comment. 0: the
 * value in symb_limits_default. */
struct symb_limits {
	uint64_t bytes;	 /* size of the body: 413 */
	unsigned jobs;	 /* number of jobs: 400, as in Mozilla's service */
	unsigned modules; /* of all jobs together, as are the next two limits: 413 */
	unsigned stacks;
	unsigned frames;
};
extern const struct symb_limits symb_limits_default;

/* Creates the service. The caller keeps `f`, which must outlive the service. `limits` may be NULL. 0,
 * -errno. */
int symb_new(struct symb **out, struct fetch *f, const struct symb_limits *limits, struct err *e);
/* For servers: files that were converted in part for an answer are converted as a whole while no request needs a
 * conversion, and stored for later requests. */
void symb_convert_idle(struct symb *s);
struct fetch *symb_fetch(const struct symb *s); /* of symb_new() */
/* Makes waiting symb_answer() calls end soon, with 503. Any thread, never blocks. */
void symb_stop(struct symb *s);
/* Call it when no thread is in symb_answer() any more. NULL is fine. */
void symb_free(struct symb *s);

/* A version of the API, a row of symb_apis. */
struct symb_api {
	const char *name; /* "v5" */
	const char *path; /* "/symbolicate/v5" */
	const char *help;
	bool jobs; /* a request may have several jobs */
};
extern const struct symb_api symb_apis[]; /* ends with a NULL name */
const struct symb_api *symb_api_find(const char *name); /* NULL: no such version */

/* Options of a request that are not in its body. */
struct symb_flags {
	bool debug;	    /* v5: "debug" beside "results": cache hits, downloads, times */
	bool lenient;	    /* a bad line of a Breakpad file is skipped; otherwise the file is unusable */
	bool demangle;	    /* demangles names of C++ and Rust */
	bool function_size; /* v5: "function_size" in each frame that has a function */
	bool module_errors; /* v5: "module_errors" beside "found_modules": why a module was not found */
	/* Called for each module that was looked for, and that has no file, with the reason; `unsure`: a source could
	 * not be asked. NULL: not called. */
	void (*missing)(void *ctx, const struct module *m, const char *why, bool unsure);
	void *ctx;
	const atomic_bool *gone; /* becomes true when the client no longer waits; may be NULL */
};

/* Returns the HTTP status: 200, 400, 413, 500 (out of memory), 503 (stopped). `out` gets the body, which is
 * always JSON. `out->most` must be large enough: SYMB_REPLY_MOST is. `flags` may be NULL. Blocks. */
#define SYMB_REPLY_MOST ((size_t)1 << 30)
int symb_answer(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out);

/* The reason in an answer that is not 200: its title. Returns `out`. */
#define SYMB_TITLE 256
const char *symb_title(const struct buf *answer, char out[static SYMB_TITLE]);

/* symb_answer() for threads that must not wait: answers if the request is small, and the files of all its modules are
 * mapped already. -EAGAIN: the answer would wait or take long; call symb_answer(). */
int symb_try(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out);

/* Counters since symb_new(), for /metrics; the table names them. Any thread. */
struct symb_stat_row {
	const char *name, *help;
	size_t index;
};
extern const struct symb_stat_row symb_stat_rows[]; /* ends with a NULL name */
uint64_t symb_stat(const struct symb *s, const struct symb_stat_row *row);

/* Names the functions at addresses in modules. Requests and results are plain values; form.h has the JSON of
 * Mozilla's symbolication service above them.
 *
 * symb_load() waits for files to be fetched and converted, as long as fetch/ and derive/ allow. Call it on threads
 * that may block, any number at the same time. Requests share modules, so many requests for one module cost one
 * download, one conversion and one mapping. One thread at a time uses a request. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fetch;
struct module;
struct symb;
struct symb_request;

/* Limits of one request; more is -E2BIG. 0: the value in symb_limits_default. */
struct symb_limits {
	uint64_t bytes; /* of form.h: the size of the body */
	unsigned jobs;	/* of form.h: the number of jobs */
	unsigned modules, stacks, frames;
};
extern const struct symb_limits symb_limits_default;

/* Creates the service. The caller keeps `f`, which must outlive the service. `limits` may be NULL. 0,
 * -errno. */
int symb_new(struct symb **out, struct fetch *f, const struct symb_limits *limits, struct err *e);
/* For servers: files that were converted in part for an answer are converted as a whole while no request needs a
 * conversion, and stored for later requests. */
void symb_convert_idle(struct symb *s);
struct fetch *symb_fetch(const struct symb *s); /* of symb_new() */
/* Makes waiting symb_load() calls end soon, with -EINTR. Any thread, never blocks. */
void symb_stop(struct symb *s);
/* Call it when no request is left. NULL is fine. */
void symb_free(struct symb *s);

/* Options of a request. */
struct symb_flags {
	bool lenient;	    /* a bad line of a Breakpad file is skipped; otherwise the file is unusable */
	bool demangle;	    /* demangles names of C++ and Rust */
	bool function_size; /* the sizes of functions are wanted */
	/* of form.h */
	bool debug;	    /* v5: "debug" beside "results": cache hits, downloads, times */
	bool brief;	    /* of stacks_print() as text: the crashed thread alone, without modules and offsets */
	bool module_errors; /* v5: "module_errors" beside "found_modules": why a module was not found */
	bool text;	    /* lines of text in place of JSON */
	/* Called for each module that was looked for, and that has no file, with the reason; `failed`: NULL, or a
	 * file may be there: "SOURCE: REASON" of a source that could not be asked, or "". `exports`: it has a file,
	 * but only a stripped program, which lacks the function of a frame. NULL: not called. */
	void (*missing)(void *ctx, const struct module *m, bool exports, const char *why, const char *failed);
	void *ctx;
	const atomic_bool *gone; /* becomes true when the client no longer waits; may be NULL */
};

/* ---- requests ------------------------------------------------------------------------- */

#define SYMB_NO_MODULE UINT32_MAX

/* Begins an empty request. It keeps the first error of what is added to it, which symb_load() returns. `flags` may be
 * NULL. NULL: out of memory. */
struct symb_request *symb_request_new(struct symb *s, const struct symb_flags *flags);
/* The request must be freed before the service. NULL is fine. */
void symb_request_free(struct symb_request *q);

/* Adds a module, with what the caller knows about it; its names may be paths, and m->path does not count.
 * `linked_at`: the address at which it was linked; NULL: unknown. Returns the number of modules that were added
 * before. */
uint32_t symb_add_module(struct symb_request *q, const struct module *m, const uint64_t *linked_at);
void symb_add_stack(struct symb_request *q);
/* Adds a frame to the last stack. `module` is the number of a module, or SYMB_NO_MODULE. `linked`: the offset is an
 * address in the file, as its symbols have it, and not an offset from the module's beginning. */
void symb_add_frame(struct symb_request *q, uint32_t module, bool linked, uint64_t offset);
/* Likewise a frame of .NET: the token of its method, and the offset in the method's IL. */
void symb_add_method(struct symb_request *q, uint32_t module, uint32_t token, uint32_t offset);

/* Finds the files of all modules that have frames. Nothing is added later. 0; -E2BIG: the request is over a limit;
 * -EINTR: symb_stop(), or the client is gone; -ENOMEM. `e` has the reason. Blocks. */
int symb_load(struct symb_request *q, struct err *e);

/* A function at a frame. */
struct symb_name {
	bool inlined;	      /* an inlined call */
	const char *function; /* NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	const char *language; /* of the source; NULL: unknown */
	/* of the function itself, not of inlined calls */
	uint64_t offset; /* from its beginning */
	bool before;	 /* the offset is negative; it is the absolute value */
	uint32_t size;
};
/* Looks up a frame of a request that is loaded, by its number in the order of symb_add_frame(). Returns the number of
 * its names: the inlined calls, from the innermost, and last the function itself. 0: the frame has no name. */
unsigned symb_look_up(struct symb_request *q, size_t frame);
/* A name of the frame that was looked up last. Valid until the next call for the request. */
const struct symb_name *symb_name(struct symb_request *q, unsigned i);

/* ---- counters ------------------------------------------------------------------------- */

/* Counters since symb_new(), for /metrics; the table names them. Any thread. */
struct symb_stat_row {
	const char *name, *help;
	size_t index;
};
extern const struct symb_stat_row symb_stat_rows[]; /* ends with a NULL name */
uint64_t symb_stat(const struct symb *s, const struct symb_stat_row *row);

/* Makes GSYM files. Functions may come in any order: the same functions give the same bytes.
 * One thread at a time for a writer; nothing is borrowed after a call returns. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "gsym/gsym.h"

/* Of two that have the same addresses the better one stays: the lower rank; of the same rank the
 * one with inlined calls, then with lines, then the one with the shorter name, then the one whose
 * name sorts first, then by gsym_set_order(). */
enum gsym_rank { GSYM_DEBUG, GSYM_GLOBAL, GSYM_WEAK, GSYM_LOCAL };

struct gsym_writer;

int gsym_writer_new(struct gsym_writer **out); /* -ENOMEM */
void gsym_writer_free(struct gsym_writer *w);
void cleanup_gsym_writer(struct gsym_writer **w);
#define _cleanup_gsym_writer_ __attribute__((cleanup(cleanup_gsym_writer)))

#define GSYM_ID_MOST 20 /* bytes of an id that the header has room for */

/* What the header says. An id of more than 20 bytes has no room there and is left out. */
void gsym_set_base(struct gsym_writer *w, uint64_t base);
void gsym_set_id(struct gsym_writer *w, const void *id, size_t n);

/* Names of functions are shortened from now on (shorten.h). */
void gsym_set_shorten(struct gsym_writer *w, bool shorten);

/* Numbers for the calls below; the same text has the same number, "" has 0, and a text ends at
 * its first NUL. -ENOMEM; -EFBIG: 4 GiB of text. */
int gsym_text(struct gsym_writer *w, const char *p, size_t n, uint32_t *out);
/* The same for a name of a function, which may be shortened. */
int gsym_name(struct gsym_writer *w, const char *p, size_t n, uint32_t *out);
int gsym_add_file(struct gsym_writer *w, uint32_t dir, uint32_t base, uint32_t *out);
/* An empty name that is not 0: a function whose name is 0 is left out. */
int gsym_no_name(struct gsym_writer *w, uint32_t *out);
/* A file without a name. It is not "no file": readers skip an inlined call that comes from no file. */
int gsym_add_unnamed_file(struct gsym_writer *w, uint32_t *out);
/* Split at the last separator; the directory keeps none but a root's. */
int gsym_add_path(struct gsym_writer *w, const char *p, size_t n, uint32_t *out);

/* Of functions with the same addresses, names and rank the one with the lowest order stays: the unit
 * of debug information that came first. For all that follow, 0 at first. */
void gsym_set_order(struct gsym_writer *w, uint32_t order);

/* A function: begin, then its rows and inlined calls, then end. Begin again drops what was not
 * ended. -ERANGE: it is 4 GiB long or ends behind the last address. */
int gsym_begin(struct gsym_writer *w, uint64_t addr, uint64_t size, uint32_t name,
	enum gsym_rank rank);
/* Rows come in order of address; one that goes back is dropped, and so is what lies outside of the
 * function. Of several at one address the last one stays, and none that repeats the one before. */
int gsym_add_row(struct gsym_writer *w, uint64_t addr, uint32_t file, uint32_t line);
/* Inlined calls, parents before their children; a call in the function itself has depth 1. Ranges
 * follow; those that are not inside of the parent's are dropped, and calls without any, too. */
int gsym_add_inline(struct gsym_writer *w, unsigned depth, uint32_t name, uint32_t call_file,
	uint32_t call_line);
int gsym_add_range(struct gsym_writer *w, uint64_t start, uint64_t size);
int gsym_end(struct gsym_writer *w);

/* All that is in a GSYM file, and its base and id. A function of it that is broken costs all:
 * -EBADMSG, and `e` says which. */
int gsym_copy(struct gsym_writer *w, const struct gsym *g, struct err *e);

size_t gsym_functions(const struct gsym_writer *w); /* that were ended */
/* The addresses of function `i` of those. */
void gsym_function_at(const struct gsym_writer *w, size_t i, uint64_t *addr, uint64_t *size);
/* The text that has this number; valid until the next text is added. */
const char *gsym_text_at(const struct gsym_writer *w, uint32_t text);

/* Strings that are there already, which end with a NUL and outlive the next gsym_write(): with GSYM_SECT0
 * its `strings` are only those that come behind them. An empty span: none are. */
void gsym_share(struct gsym_writer *w, struct span strings);

/* The file. With GSYM_V1 all of it is in `main`; with GSYM_SECT0 `main` is the section .gsym, and
 * `strings` the section that it names, `strings_name`. -ENODATA: no functions. -EFBIG: it would be
 * larger than the format, or a buffer, can hold. `e` says so. The writer is as before. */
int gsym_write(struct gsym_writer *w, enum gsym_form form, bool big, const char *strings_name,
	struct buf *main, struct buf *strings, struct err *e);

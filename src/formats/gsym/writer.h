/* Makes GSYM files. Functions may come in any order: the same functions give the same bytes.
 * Only one thread at a time may use a writer; gsym_split() makes writers for more threads. A writer keeps no
 * pointer from its caller, except that of gsym_share().
 *
 * A writer keeps its first error, -ENOMEM or -EFBIG (4 GiB of text), and then ignores what is added: numbers are 0
 * from then on. gsym_error() and gsym_write() return the error, so a caller need not check what it adds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "formats/gsym/gsym.h"

/* If functions have the same addresses, the writer keeps the function with the lowest rank. At the same rank
 * it prefers the function of gsym_prefer(), then inlined calls, then lines, then the shorter name, then the
 * name that sorts first, then the lowest order (gsym_set_order()). */
enum gsym_rank { GSYM_DEBUG, GSYM_GLOBAL, GSYM_WEAK, GSYM_LOCAL };

struct gsym_writer;

int gsym_writer_new(struct gsym_writer **out); /* 0, -ENOMEM */
void gsym_writer_free(struct gsym_writer *w);
void cleanup_gsym_writer(struct gsym_writer **w);
#define _cleanup_gsym_writer_ __attribute__((cleanup(cleanup_gsym_writer)))

#define GSYM_ID_MOST 20 /* bytes of an id that the header has room for */

/* Makes another writer of the same file, for another thread. gsym_write(w) writes the functions of both, and
 * texts and files have the same numbers in both. Any thread may call this, but the threads must have ended
 * before gsym_write(). gsym_writer_free(w) frees the new writer, too. 0, -ENOMEM. */
int gsym_split(struct gsym_writer *w, struct gsym_writer **out);

/* The fields of the header. An id of more than 20 bytes does not fit and is left out. */
void gsym_set_base(struct gsym_writer *w, uint64_t base);
void gsym_set_id(struct gsym_writer *w, const void *id, size_t n);

/* From now on `shift` is added to the addresses that the caller gives. gsym_function_at() subtracts it. */
void gsym_set_shift(struct gsym_writer *w, uint64_t shift);

/* From now on names of functions are shortened (shorten.h). */
void gsym_set_shorten(struct gsym_writer *w, bool shorten);

/* The first error of this writer, without those of writers that were split from it; 0: no error occurred. */
int gsym_error(const struct gsym_writer *w);

/* Numbers a text for the functions below. Equal texts have the same number; "" has number 0. A text ends at
 * its first NUL. */
uint32_t gsym_text(struct gsym_writer *w, const char *p, size_t n);
/* As gsym_text(), for the name of a function, which may be shortened. */
uint32_t gsym_name(struct gsym_writer *w, const char *p, size_t n);
uint32_t gsym_add_file(struct gsym_writer *w, uint32_t dir, uint32_t base);
/* Makes an empty name whose number is not 0: functions whose name has number 0 are left out. */
uint32_t gsym_no_name(struct gsym_writer *w);
/* Makes a file without a name, which is not file 0: readers skip an inlined call whose call site has file 0. */
uint32_t gsym_add_unnamed_file(struct gsym_writer *w);
/* Splits the path at the last separator, which the directory keeps only if it is a root. */
uint32_t gsym_add_path(struct gsym_writer *w, const char *p, size_t n);

/* Sets the order of the functions that follow: the number of their unit of debug information; initially 0.
 * If functions have the same addresses, name and rank, the writer keeps the function with the lowest order. */
void gsym_set_order(struct gsym_writer *w, uint32_t order);

/* Adds a function: gsym_begin(), then its rows and inlined calls, then gsym_end(). gsym_begin() drops a
 * function that was not ended. A function of 4 GiB or more, or that ends beyond the last address, is dropped. */
void gsym_begin(struct gsym_writer *w, uint64_t addr, uint64_t size, uint32_t name,
	enum gsym_rank rank);
/* Rows come in order of address. A row that goes back, lies outside of the function or repeats the
 * row before it is dropped. The last row at an address replaces the others. */
void gsym_add_row(struct gsym_writer *w, uint64_t addr, uint32_t file, uint32_t line);
/* Add an inlined call, then its ranges. Parents come before their children; a call in the function itself has depth
 * 1. Ranges outside of the parent's ranges are dropped, and so are calls without a range. */
void gsym_add_inline(struct gsym_writer *w, unsigned depth, uint32_t name, uint32_t call_file,
	uint32_t call_line);
void gsym_add_range(struct gsym_writer *w, uint64_t start, uint64_t size);
void gsym_end(struct gsym_writer *w);

/* Adds everything in a GSYM file, with its base and id. One broken function fails the call: -EBADMSG, and
 * `e` names the function. */
int gsym_copy(struct gsym_writer *w, const struct gsym *g, struct err *e);

/* The number of functions that were ended, without those of writers that were split from `w`. */
size_t gsym_functions(const struct gsym_writer *w);
/* The addresses of function `i` of gsym_functions(). */
void gsym_function_at(const struct gsym_writer *w, size_t i, uint64_t *addr, uint64_t *size);
/* The name of function `i`; valid until the next text is added. */
const char *gsym_function_name(const struct gsym_writer *w, size_t i);
/* Gives function `i` another name, a number of gsym_name(). */
void gsym_rename(struct gsym_writer *w, size_t i, uint32_t name);
/* Of several functions with the same addresses and rank, the writer keeps function `i`. */
void gsym_prefer(struct gsym_writer *w, size_t i);
/* The text that has this number; valid until the next text is added. */
const char *gsym_text_at(const struct gsym_writer *w, uint32_t text);

/* Sets a table of strings that already exists elsewhere, so that GSYM_SECT0 does not write these strings again:
 * gsym_write() puts only the other strings in `strings`. The table ends with a NUL, and stays valid until
 * the next gsym_write() returns. An empty span: there is no such table. */
void gsym_share(struct gsym_writer *w, struct span strings);

/* The next gsym_write() is the last use of the writer before gsym_writer_free(). That call frees what it has written,
 * so that the writer and the output together need less memory. */
void gsym_set_last(struct gsym_writer *w);

/* Writes the file. With GSYM_V1 all of it is in `main`; with GSYM_SECT0 `main` is the section .gsym, and
 * `strings` the section that it names, `strings_name`. -ENODATA: there are no functions. -EFBIG: the file
 * would be larger than the format, or a buffer, can hold. `e` has the reason. The writer is unchanged, except after
 * gsym_set_last(). */
int gsym_write(struct gsym_writer *w, enum gsym_form form, bool big, const char *strings_name,
	struct buf *main, struct buf *strings, struct err *e);

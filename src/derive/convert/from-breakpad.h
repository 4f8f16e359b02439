/* Reads Breakpad's text symbol files into a GSYM writer: FUNC records with their lines and INLINEs, and
 * PUBLIC records. The caller passes the text in pieces of any size. The reader keeps only the current FUNC
 * and an incomplete line. Addresses stay offsets from where the module is loaded, as in the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "formats/gsym/writer.h"

#include <stdbool.h>

/* The longest line in bytes; mangled names of some templates have 100 KB and more. */
#define BREAKPAD_LINE_MOST (1u << 20)

struct breakpad;

struct breakpad_counts {
	uint64_t lines, funcs, publics;
	uint64_t bad;	    /* lines that were left out */
	uint64_t first_bad; /* number of the first bad line, from 1; 0: no line is bad */
};

/* Creates a reader. Look-ups in its output find what Mozilla's service finds (eliot.h). A bad FILE or PUBLIC
 * line is left out. `strict`: any other bad line makes the whole file fail, as in the service. Otherwise
 * only that line is left out; after a bad FUNC line, the lines of its block are left out, too. `marks`: the
 * output is only for the look-ups of src/symb/. 0, -ENOMEM. */
int breakpad_new(struct breakpad **out, struct gsym_writer *w, bool strict, bool marks);
void cleanup_breakpad(struct breakpad **b);
#define _cleanup_breakpad_ __attribute__((cleanup(cleanup_breakpad)))

/* The output will only be used for look-ups at these addresses, which are sorted. All lines are still checked, but
 * the writer gets only what these look-ups need. Call it before breakpad_feed(), which must then get the whole text
 * at once. Text and addresses must stay until breakpad_finish(). */
void breakpad_ask(struct breakpad *b, const uint32_t *addrs, size_t n);

/* Reads the next piece. 0; -EBADMSG: the text is not a Breakpad file, or a line is bad and the reader is
 * strict (`e` names the line); -ENOMEM, -EFBIG. */
int breakpad_feed(struct breakpad *b, const char *p, size_t n, struct err *e);

/* Ends the file: passes all that was read to the writer, PUBLICs too. Returns as breakpad_feed(). */
int breakpad_finish(struct breakpad *b, struct breakpad_counts *out, struct err *e);

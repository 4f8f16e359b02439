/* Breakpad's text symbol files into a writer: FUNC with its lines and INLINEs, PUBLIC. The text
 * comes in pieces of any size; what is kept is the record under way. Addresses stay what they are
 * in the file, offsets from where the module is loaded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "gsym/writer.h"

#include <stdbool.h>

/* A line may be this long; mangled names of some templates have 100 KB and more. */
#define BREAKPAD_LINE_MOST (1u << 20)

struct breakpad;

struct breakpad_counts {
	uint64_t lines, funcs, publics;
	uint64_t bad;	    /* lines that were left out */
	uint64_t first_bad; /* the number of the first; 0: none */
};

/* Both: look-ups find what Mozilla's service finds (eliot.h). A bad FILE or PUBLIC line is left out.
 * Strict: any other bad line costs the whole file, as it does there. Not strict: it costs that line, a bad
 * FUNC line the block that it begins. `marks`: for the look-ups of symb/ alone. -ENOMEM. */
int breakpad_new(struct breakpad **out, struct gsym_writer *w, bool strict, bool marks);
void breakpad_free(struct breakpad *b);
void cleanup_breakpad(struct breakpad **b);
#define _cleanup_breakpad_ __attribute__((cleanup(cleanup_breakpad)))

/* -EBADMSG: no Breakpad file, or strict and bad; `e` names the line. -ENOMEM, -EFBIG. */
int breakpad_feed(struct breakpad *b, const char *p, size_t n, struct err *e);

/* The end of the file: what it told is in the writer now, PUBLICs too. */
int breakpad_finish(struct breakpad *b, struct breakpad_counts *out, struct err *e);

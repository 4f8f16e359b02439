/* The worth of a file: which symbols and which debug information it has. Several files can have one key, such as
 * a program before and after `strip`; the worth says which of them is better. Plain values: copy and compare
 * them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/id/filetype.h"

#include <stddef.h>

enum worth_symbols {
	WORTH_NO_SYMBOLS,
	WORTH_EXPORTS, /* only what other modules may call: PE, Mach-O */
	WORTH_DYNAMIC, /* all but local symbols: .dynsym of ELF, the public symbols of a PDB */
	WORTH_SYMBOLS  /* all symbols */
};

enum worth_debug {
	WORTH_NO_DEBUG,
	WORTH_LINES, /* line tables without the functions, types and variables that belong to them */
	WORTH_DEBUG  /* all that the format has */
};

struct worth {
	bool known; /* false: the file was not looked at, and counts as a file that has everything */
	enum worth_symbols symbols;
	enum worth_debug debug;
	bool unwind, sources;
	bool made; /* another symfs made the file; only for stored files, the bytes do not show it */
};

/* Compares two files of type `t`. Above 0: `a` is better; 0: they are equally good; below 0: `b` is better.
 * Debug files are compared by debug information, then symbols, unwind information and sources; programs by
 * unwind information first. A file that another symfs made is worse than any that was published. */
int worth_compare(const struct worth *a, const struct worth *b, enum filetype t);

/* A number below 256 for comparisons among files of one type: a better file has a higher number. */
unsigned worth_rank(const struct worth *w, enum filetype t);

/* Whether the file has what clients want from a file of the type. Then no other source need be asked for a
 * better file. True if the worth is unknown. False if another symfs made the file. */
bool worth_suffices(const struct worth *w, enum filetype t);

/* Names what clients want from a file of the type, for messages: "debug information". NULL: any file of the
 * type suffices. */
const char *worth_wanted(enum filetype t);

/* The text form: "symbols=full debug=lines unwind sources made", without the words for missing parts; "none":
 * all parts are missing; "unknown": `known` is false. */
#define WORTH_TEXT 64
const char *worth_text(const struct worth *w, char out[static WORTH_TEXT]);
int worth_parse(struct worth *out, const char *text); /* 0; -EINVAL, with out->known false */

/* The same for people: "all symbols, line tables, unwind tables, sources, made by a symfs". */
#define WORTH_PHRASE 96
const char *worth_phrase(const struct worth *w, char out[static WORTH_PHRASE]);

/* Shared by the readers of symbol tables: a symbol, and the list of all symbols. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "derive/convert/from-symbols.h"

struct symbol {
	uint64_t addr, size;
	const char *name; /* NUL-terminated; in the file or in symbols.names */
	enum gsym_rank rank;
	bool typed;
	uint8_t table;	/* the number of the symbol table, in the order in which llvm-symbolizer uses the tables */
	uint32_t index; /* the order in which the symbols of symbols.aliases were added */
};

/* A function of debug information. */
struct known {
	uint64_t start, end;
	uint32_t entry; /* its number in the writer */
	bool exact;	/* a symbol has the function's name */
};

struct symbols {
	struct gsym_writer *w;
	const struct image *m;
	struct text_range *text;
	size_t n_text;
	struct symbol *all;
	size_t n, room;
	struct known *known; /* sorted */
	size_t n_known;
	struct symbol *aliases; /* symbols at which a function of debug information begins */
	size_t n_aliases, aliases_room;
	uint64_t budget; /* comparisons of names that may still be made */
	uint8_t table;	 /* the number of the symbol table that is read */
	uint64_t *reach; /* the furthest end of known[0..i] */
	struct image_section opd;
	const struct strays *strays;
	struct buf debugdata; /* what .gnu_debugdata unpacks to */
	char *names;	      /* copies of names that have no NUL in the file */
};

/* (symbols-names.c) Lists in s->known the functions that the writer already has. 0, -ENOMEM. */
int symbols_collect_known(struct symbols *s);
/* (symbols-names.c) Adds a symbol, unless it lies outside of code or debug information covers it. The size
 * is cut at the end of its section. 0, -ENOMEM. */
int symbols_add(struct symbols *s, const struct symbol *x);

/* (symbols-names.c) Gives functions of debug information the names of their symbols. Call it when all symbols
 * were added. */
void symbols_name_known(struct symbols *s);

/* Adds all symbols of a WebAssembly file: names of the section `name` and of exports; broken symbols are left out. 0,
 * -ENOMEM. */
int symbols_of_wasm(struct symbols *s);

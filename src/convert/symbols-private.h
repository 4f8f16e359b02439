/* What the readers of symbol tables share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "convert/from-symbols.h"

struct symbol {
	uint64_t addr, size;
	const char *name; /* NUL-terminated; within the file, or the table's own */
	enum gsym_rank rank;
	bool typed;
};

struct symbols {
	struct gsym_writer *w;
	const struct image *m;
	struct text_range *text;
	size_t n_text;
	struct symbol *all;
	size_t n, room;
	struct text_range *known; /* of debug information, sorted */
	size_t n_known;
	uint64_t *reach; /* the furthest end of known[0..i] */
	struct image_section opd;
	const struct strays *strays;
	struct buf debugdata; /* what .gnu_debugdata unpacks to */
	char *names;	      /* of those that have no NUL in the file */
};

/* (symbols-known.c) The functions that the writer has already, into s->known. -ENOMEM. */
int symbols_collect_known(struct symbols *s);
/* (symbols-known.c) Into the table, if it lies among instructions and is not known better: 0, -ENOMEM. A
 * size is cut at the end of its section. */
int symbols_add(struct symbols *s, const struct symbol *x);

/* All symbols of a file of one format. What is broken in it is left out. 0, -ENOMEM. */
int symbols_of_elf(struct symbols *s);
int symbols_of_macho(struct symbols *s);
int symbols_of_pe(struct symbols *s); /* its symbol table and its exports */

/* GSYM files: address -> function, file, line and what was inlined there. A view of bytes that
 * belong to the caller and must outlive it; every access stays inside them, and what is broken
 * is an error with words. Nothing here allocates but gsym_prepare(). A struct gsym that is ready
 * may be read by any number of threads.
 *
 * Four forms are read, in both byte orders: LLVM's version 1; and of the prototype that it came
 * from, sections of an object file with the string section named in the header (GSYM_SECT0) or told
 * by its offset (GSYM_SECT1), and a file of its own (GSYM_ALONE0). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>

/* Inlined calls may nest this deep; a file with more is broken. */
#define GSYM_DEPTH_MOST 256

enum gsym_form { GSYM_V1, GSYM_SECT0, GSYM_SECT1, GSYM_ALONE0 };

struct gsym {
	enum gsym_form form;
	bool big, swap;		/* the file's byte order; whether it is not the host's */
	uint8_t off_size;	/* of an address in the table: 1, 2, 4 or 8 */
	uint64_t base;		/* addresses in the table count from here */
	uint32_t count;		/* of functions */
	uint32_t n_files;	/* index 0, no file, is one of them */
	struct span id;		/* the UUID or build id; empty: the file has no id */
	struct span data;	/* what the offsets of functions count from */
	struct span strings;
	const char *strings_in; /* GSYM_SECT0: the section that holds them; else "" */
	const uint8_t *offsets, *infos, *files;
	/* gsym_prepare()'s: for each function the nearest before it that reaches over its start. */
	uint32_t *outer;
	/* and how many functions begin before each slice of addresses, of 2^slice_bits bytes */
	uint32_t *slices, n_slices;
	unsigned slice_bits;
	bool prepared;
};

/* The header and the tables are looked at, the functions are not. -EBADMSG: broken, `e` says how.
 * -ENOMSG: no GSYM at all. -ENOTSUP: a version that is not read. */
int gsym_open(struct gsym *g, struct span file, struct err *e);

/* For many lookups: one walk over all functions, so that an address in no function is known at
 * once, and one in a function is found with fewer steps. Half a byte a function, and four more when
 * functions overlap. -EBADMSG, -ENOMEM. */
int gsym_prepare(struct gsym *g, struct err *e);
void gsym_release(struct gsym *g); /* what gsym_prepare() took; the bytes stay the caller's */

const char *gsym_form_name(enum gsym_form form); /* "v1" "sect0" "sect1" "alone0" */

/* ---- lookup ------------------------------------------------------------------------- */

struct gsym_frame {
	const char *name;	/* of the function; "" when it has none */
	const char *dir, *base; /* "": not known; print with gsym_path_text() */
	uint32_t line;
	uint64_t offset; /* of the address, from the start of the function or inlined range */
};

struct gsym_hit {
	uint64_t start; /* the function's */
	uint32_t size, index;
	unsigned n; /* frames, innermost first; at least one */
	struct gsym_frame frame[GSYM_DEPTH_MOST + 2];
};

/* 0; -ENOENT: no function has the address; -EBADMSG: broken there. A function of size 0 has its own
 * address only. Where functions overlap, the nearest that covers the address answers. */
int gsym_lookup(const struct gsym *g, uint64_t addr, struct gsym_hit *out, struct err *e);

/* ---- all that is there -------------------------------------------------------------- */

struct gsym_func {
	uint64_t addr;
	uint32_t size;
	const char *name;
	struct span lines, inlines; /* encoded; empty when there are none */
	bool biased;		    /* its line table counts files from 1 too many: gsym.py did */
};

#define GSYM_MAGIC 0x4753594du
#define GSYM_VERSION 1 /* that of all four forms */

uint64_t gsym_addr(const struct gsym *g, uint32_t i);
uint32_t gsym_info_at(const struct gsym *g, uint32_t i); /* where its record is, in `data` */
int gsym_func_at(const struct gsym *g, uint32_t i, struct gsym_func *out, struct err *e);

/* 0; -EBADMSG when there is no such file, or its strings are nowhere. */
int gsym_file(const struct gsym *g, uint64_t index, const char **dir, const char **base);

/* "DIR/BASE", as much of it as fits; "" for no file. */
const char *gsym_path_text(const char *dir, const char *base, char *room, size_t n);

struct gsym_row {
	uint64_t addr;
	uint32_t file, line;
};

struct gsym_rows {
	const uint8_t *p, *end;
	int64_t min, line;
	uint64_t addr, file;
	uint32_t range, inverse;
	bool biased;
	const char *bad; /* why gsym_rows_next() said -EBADMSG */
};

/* Line rows of a function in order of address. 1: `row` is filled; 0: no more; -EBADMSG. */
int gsym_rows_begin(struct gsym_rows *it, const struct gsym_func *f);
int gsym_rows_next(struct gsym_rows *it, struct gsym_row *row);

/* One inlined call, or at depth 0 the function itself. */
struct gsym_node {
	unsigned depth;
	bool children;
	uint32_t name; /* for gsym_string() */
	uint64_t call_file, call_line;
	uint64_t n_ranges, base; /* ranges count from here */
	uint64_t first;		 /* where the ranges of its children count from */
	const uint8_t *ranges, *ranges_end;
};

struct gsym_nodes {
	const struct gsym *g;
	const uint8_t *p, *end;
	unsigned depth;
	bool begun;
	const char *bad;
	uint64_t base[GSYM_DEPTH_MOST + 1];
};

/* The tree of inlined calls, parents before their children. As gsym_rows_*(). */
void gsym_nodes_begin(struct gsym_nodes *it, const struct gsym *g, const struct gsym_func *f);
int gsym_nodes_next(struct gsym_nodes *it, struct gsym_node *node);

/* Range `*at` of a node, the first is 0 bytes into node->ranges; moves `*at` on. False: no more. */
bool gsym_node_range(const struct gsym_node *node, size_t *at, uint64_t *start, uint64_t *size);

/* NULL: there is no such string. */
const char *gsym_string(const struct gsym *g, uint64_t offset);

/* Reads everything: order of addresses, each record to its end, each name and file. 0; -EBADMSG. */
int gsym_check(const struct gsym *g, struct err *e);

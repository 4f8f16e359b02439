/* Reads GSYM files: from an address to its function, file, line and inlined calls. A struct gsym is a view
 * of bytes that belong to the caller and must outlive it. Every access stays inside these bytes. If the file
 * is damaged, functions return an error, with a text. Only gsym_prepare() allocates. After that any number
 * of threads may read a struct gsym.
 *
 * The reader knows four forms, in both byte orders. One is version 1 of LLVM. Three are of the prototype
 * that preceded LLVM's. Two of these are sections of an object file: the header has the name (GSYM_SECT0)
 * or the offset (GSYM_SECT1) of the string section. The third is a separate file (GSYM_ALONE0). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>

/* The deepest nesting of inlined calls; a file with deeper calls is broken. */
#define GSYM_DEPTH_MOST 256

enum gsym_form { GSYM_V1, GSYM_SECT0, GSYM_SECT1, GSYM_ALONE0 };

struct gsym {
	enum gsym_form form;
	bool big, swap;		/* the file is big-endian; its byte order is not the host's */
	uint8_t off_size;	/* bytes of an address in the table: 1, 2, 4 or 8 */
	uint64_t base;		/* addresses in the table count from here */
	uint32_t count;		/* number of functions */
	uint32_t n_files;	/* with index 0, which means "no file" */
	struct span id;		/* the UUID or build id; empty: the file has no id */
	struct span data;	/* offsets of functions count from its start */
	struct span strings;
	const char *strings_in; /* GSYM_SECT0: the section that holds the strings; else "" */
	const uint8_t *offsets, *infos, *files;
	/* Set by gsym_prepare(): for each function, the nearest earlier function that extends beyond its
	 * start; NULL: no functions overlap. */
	uint32_t *outer;
	/* Set by gsym_prepare(): how many functions begin before each slice of 2^slice_bits addresses. */
	uint32_t *slices, n_slices;
	unsigned slice_bits;
	bool prepared;
};

/* Opens a file: checks its header and tables, but not its functions. 0; -EBADMSG: the file is broken (`e`
 * says how); -ENOMSG: it is not GSYM; -ENOTSUP: the reader does not know its version. */
int gsym_open(struct gsym *g, struct span file, struct err *e);

/* Prepares for many lookups, with one walk over all functions. Then a lookup needs fewer steps, and knows at
 * once that no function has an address. Allocates half a byte per function, and four bytes more per function
 * if functions overlap. 0, -EBADMSG, -ENOMEM. */
int gsym_prepare(struct gsym *g, struct err *e);
void gsym_release(struct gsym *g); /* frees what gsym_prepare() allocated */

const char *gsym_form_name(enum gsym_form form); /* "v1" "sect0" "sect1" "alone0" */

/* ---- lookup ------------------------------------------------------------------------- */

struct gsym_frame {
	const char *name;	/* of the function; "": the function has no name */
	const char *dir, *base; /* "": not known; print with gsym_path_text() */
	uint32_t line;
	uint64_t offset; /* bytes from the start of the function or inlined range to the address */
};

struct gsym_hit {
	uint64_t start; /* first address of the function */
	uint32_t size, index;
	unsigned n; /* frames, innermost first; at least one */
	struct gsym_frame frame[GSYM_DEPTH_MOST + 2];
};

/* Looks an address up. 0; -ENOENT: no function has the address; -EBADMSG: the function is broken. A function
 * of size 0 has only its own address. If several functions cover the address, the function that begins last
 * is found. */
int gsym_lookup(const struct gsym *g, uint64_t addr, struct gsym_hit *out, struct err *e);

/* ---- functions --------------------------------------------------------------------- */

struct gsym_func {
	uint64_t addr;
	uint32_t size;
	const char *name;
	struct span lines, inlines; /* encoded; empty when there are none */
	bool biased;		    /* its file numbers are 1 too large, as gsym.py wrote them */
};

#define GSYM_MAGIC 0x4753594du
#define GSYM_VERSION 1 /* the version number in all four forms */

uint64_t gsym_addr(const struct gsym *g, uint32_t i);
int gsym_func_end(const struct gsym *g, uint32_t i, uint64_t *end); /* 0, -EBADMSG */
uint32_t gsym_info_at(const struct gsym *g, uint32_t i); /* the offset of its record */
int gsym_func_at(const struct gsym *g, uint32_t i, struct gsym_func *out, struct err *e);

/* Directory and name of a file. 0; -EBADMSG: no such file exists, or its strings lie outside. */
int gsym_file(const struct gsym *g, uint64_t index, const char **dir, const char **base);

/* Writes "DIR/BASE" to `room`, as much as fits; "" for no file. Returns `room`. */
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
	const char *bad; /* why gsym_rows_next() returned -EBADMSG */
};

/* Iterate over the line rows of a function in order of address. gsym_rows_next(): 1: `row` is filled; 0: no
 * row is left; -EBADMSG. */
int gsym_rows_begin(struct gsym_rows *it, const struct gsym_func *f);
int gsym_rows_next(struct gsym_rows *it, struct gsym_row *row);

/* One inlined call, or at depth 0 the function itself. */
struct gsym_node {
	unsigned depth;
	bool children;
	uint32_t name; /* offset of the name, for gsym_string() */
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

/* Iterate over the tree of inlined calls, parents before their children. Return as gsym_rows_next(). */
void gsym_nodes_begin(struct gsym_nodes *it, const struct gsym *g, const struct gsym_func *f);
int gsym_nodes_next(struct gsym_nodes *it, struct gsym_node *node);

/* Reads the range of a node at *at, and moves *at to the next one. *at counts bytes of node->ranges; start
 * with 0. False: no range is left. */
bool gsym_node_range(const struct gsym_node *node, size_t *at, uint64_t *start, uint64_t *size);

/* The string at an offset; NULL: the offset lies outside. */
const char *gsym_string(const struct gsym *g, uint64_t offset);

/* Checks the whole file: the order of addresses, each record to its end, each name and file. 0;
 * -EBADMSG. */
int gsym_check(const struct gsym *g, struct err *e);

/* One module of a PDB: its functions, lines and inlined calls, from the module's stream. An address is a
 * section and an offset. Only one thread may use a struct pdb_code. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/pdb.h"

enum pdb_code_kind { PDB_PROC, PDB_THUNK, PDB_SEPARATED, PDB_TRAMPOLINE };

struct pdb_func {
	enum pdb_code_kind kind;
	uint16_t section;
	bool calls;		  /* there are call sites in [at, end) */
	uint32_t off, size;
	const char *name;	  /* points into the module's bytes; PDB_SEPARATED has its parent's name;
				     NULL: PDB_TRAMPOLINE, or the parent is unknown */
	uint32_t type;		  /* number of the function's type record; 0: unknown */
	uint32_t at, end;	  /* the records inside the function: offsets [at, end) of `symbols` */
	uint16_t target_section;  /* section of the target: where PDB_TRAMPOLINE jumps, or where the parent
				     of PDB_SEPARATED is */
	uint32_t target;	  /* offset of the target */
};

struct pdb_entry;

/* A range of code whose lines are listed together. */
struct pdb_fragment {
	uint16_t section;
	bool columns;
	uint32_t off, size;
	struct span blocks;
	struct pdb_entry *entries; /* its lines in order of address; NULL: not read yet */
	size_t n_entries;
};

/* The range [from, to) of a section that a function or fragment covers; `which` is its index in the list of
 * functions or of fragments. Ranges are in order of section and `from`. `reach` is the highest `to` of this
 * range and of those below it in the tree that lines.c makes of the list. */
struct pdb_range {
	uint32_t section, which;
	uint64_t from, to, reach;
};

/* The file and the line at which the body of an inlined function begins. */
struct pdb_inlinee {
	uint32_t id, file, line;
	uint32_t order;
};

struct pdb_code {
	const struct pdb *p;
	unsigned module;
	uint8_t *copy; /* a copy of the stream; NULL: the spans point into the file */
	struct span symbols, lines; /* `symbols` includes the signature before the records, because offsets
				       of records count from the signature */
	size_t n_funcs, funcs_room;
	struct pdb_func *funcs;	   /* in the order of the stream */
	struct pdb_range *by_func; /* sorted by address */
	uint32_t *next_func; /* for each entry of by_func: the first entry from there on that is not a trampoline */
	size_t n_first;
	struct pdb_range *first_func; /* the first function in the stream at each address, without overlap */
	size_t n_fragments, fragments_room;
	struct pdb_fragment *fragments;
	struct pdb_range *by_fragment;
	size_t n_inlinees, inlinees_room;
	struct pdb_inlinee *inlinees; /* sorted by id */
	struct span checksums;	      /* entries of the module's files, with the number of each file's name */
	struct span imports;	      /* ids of other modules' records that this module uses */
};

/* Reads a module. 0; -EAGAIN; -ENOENT: the PDB has no symbols of the module; -EBADMSG, -ENOMEM. Call
 * pdb_code_release() in every case. */
int pdb_code_open(struct pdb_code *c, const struct pdb *p, struct msf_io *io, unsigned module, struct err *e);
void pdb_code_release(struct pdb_code *c);

/* Returns the number of a file's name, for pdb_name(); 0: the file has no name. `file`: pdb_row.file or
 * pdb_inlinee.file. */
uint32_t pdb_file_name(const struct pdb_code *c, uint32_t file);

/* The first function, in the order of the stream, that contains the address; NULL: no function does. */
const struct pdb_func *pdb_func_at(const struct pdb_code *c, unsigned section, uint32_t off);

/* The function with the lowest address that begins in [from, to); NULL: no function begins there. Trampolines
 * do not count. */
const struct pdb_func *pdb_func_from(const struct pdb_code *c, unsigned section, uint32_t from, uint32_t to);

/* Bytes [from, to) of the section that come from one line. `line` 0: the line is unknown. */
struct pdb_row {
	uint32_t from, to;
	uint32_t file, line;
};

struct pdb_rows {
	struct pdb_row *at;
	size_t n, room;
};
static inline void pdb_rows_release(struct pdb_rows *rows)
{
	free(rows->at);
	*rows = (struct pdb_rows){0};
}

/* Reads the lines of [off, off + size), ascending and without overlap. 0; -ENOMEM. Call pdb_rows_release()
 * in every case. */
int pdb_lines_of(const struct pdb_code *c, unsigned section, uint32_t off, uint32_t size, struct pdb_rows *out);

/* Whether the line of any byte in the range is known. */
bool pdb_has_lines(const struct pdb_code *c, unsigned section, uint32_t off, uint32_t size);

/* An inlined call. Rows [row, row_end) of pdb_sites.rows belong to the body of the inlined function; rows
 * [row, all_end) include the calls inlined into that body. */
struct pdb_site {
	uint32_t inlinee; /* the id of the function; if bit 31 is set, an id of another module */
	int parent;	  /* index of the caller's site; -1: the caller is the function itself */
	size_t row, row_end, all_end;
};

struct pdb_sites {
	struct pdb_site *at;
	size_t n, room;
	struct pdb_rows rows;
};

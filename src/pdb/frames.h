/* Which code of a PDB has which frames: a function cut into pieces, in each of which all addresses have
 * the same function, inlined calls, files and lines. Look-ups and GSYM are made from the same pieces, so
 * they answer alike. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/module.h"

#define PDB_DEPTH_MOST 256 /* calls in one another; deeper ones are left out */

/* A frame in a piece. An inlined call comes after the function that it was inlined into. */
struct pdb_cell {
	int parent;	/* the cell of its caller; -1: the function itself */
	int site;	/* which site; its inlinee has the name */
	uint32_t file, line; /* of this frame; line 0: not known */
};

/* [from, to) of the section. */
struct pdb_piece {
	uint32_t from, to;
	uint32_t file, line; /* of the function */
	int cell;	     /* the innermost call; -1: none */
};

struct pdb_pieces_of {
	struct pdb_sites sites;
	struct pdb_cell *cells;
	size_t n_cells, cells_room;
	struct pdb_piece *at;
	size_t n;
};

/* The pieces of a function, ascending; together they are all of it. A function with so many calls that
 * this would take more than WORK_MOST steps has none of them. 0; -ENOMEM. */
int pdb_cut(const struct pdb_code *c, const struct pdb_func *f, struct pdb_pieces_of *out);
void pdb_cut_release(struct pdb_pieces_of *p);

/* Cuts a function of a PDB into pieces. All addresses of a piece have the same frames: function, inlined
 * calls, files and lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/module.h"

#define PDB_DEPTH_MOST 256 /* the deepest nesting of inlined calls; deeper calls are left out */

/* The frame of an inlined call in a piece. A cell comes after its caller's cell in the list. */
struct pdb_cell {
	int parent;	/* index of the caller's cell; -1: the caller is the function itself */
	int site;	/* index of the call site, whose inlinee names the function of the frame */
	uint32_t file, line; /* the frame's file number and line; line 0: unknown */
};

/* A piece: bytes [from, to) of the function's section. */
struct pdb_piece {
	uint32_t from, to;
	uint32_t file, line; /* those of the function's own frame; line 0: unknown */
	int cell;	     /* index of the innermost call's cell; -1: the piece is in no call */
	bool unwanted;	     /* false; for the caller: it does not need the names of this piece */
};

struct pdb_pieces_of {
	struct pdb_sites sites;
	struct pdb_cell *cells;
	size_t n_cells, cells_room;
	struct pdb_piece *at;
	size_t n;
};

/* Cuts a function into pieces, in order of address, which cover all of the function. Leaves inlined calls out
 * if they would take too many steps for the number of their rows. 0; -ENOMEM. */
int pdb_cut(const struct pdb_code *c, const struct pdb_func *f, struct pdb_pieces_of *out);
void pdb_cut_release(struct pdb_pieces_of *p);

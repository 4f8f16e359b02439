/* Looks up an address of an image in its PDB: finds the function and the functions inlined there. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/names.h"

#define PDB_FRAMES_MOST 256

struct pdb_frame {
	char *name; /* of the function; "": unknown */
	char *file; /* path of the source file; "": unknown */
	uint32_t line;
	uint32_t offset; /* of the address, from the start of the function or of the inlined call */
};

struct pdb_found {
	unsigned n; /* frames, innermost first */
	struct pdb_frame frame[PDB_FRAMES_MOST];
};
void pdb_found_release(struct pdb_found *f);

/* Finds the frames at an address relative to the image (RVA). 0; -ENOENT: no function, public
 * symbol or line has the address; -EAGAIN: names->io lists the missing bytes; -EBADMSG, -ENOMEM
 * with the reason in `e`. Call pdb_found_release() in every case. */
int pdb_find(const struct pdb *p, struct pdb_namer *names, uint32_t rva, struct pdb_found *out, struct err *e);

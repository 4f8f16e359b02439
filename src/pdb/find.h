/* What an address of an image is: its function, and what was inlined there, from the PDB alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/names.h"

#define PDB_FRAMES_MOST 256

struct pdb_frame {
	char *name; /* "" when it has none */
	char *file; /* "" when it has none */
	uint32_t line;
};

struct pdb_found {
	unsigned n; /* frames, innermost first */
	struct pdb_frame frame[PDB_FRAMES_MOST];
};
void pdb_found_release(struct pdb_found *f);

/* 0; -ENOENT: no function has the address; -EAGAIN; -EBADMSG, -ENOMEM; `e` says so. pdb_found_release() in
 * every case. */
int pdb_find(const struct pdb *p, struct pdb_namer *names, uint32_t rva, struct pdb_found *out, struct err *e);

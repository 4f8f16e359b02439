/* Names of functions as people know them: with the types of their parameters, and of inlined functions with
 * their class or namespace. A struct pdb_namer is one thread's. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/module.h"

struct pdb_exports {
	unsigned module;
	uint8_t *bytes;
	struct span ids; /* pairs: the module's own id, the PDB's */
};

#define PDB_EXPORTS_MOST 8

struct pdb_namer {
	const struct pdb *p;
	struct msf_io *io;
	bool plain; /* without parameters */
	struct pdb_exports exports[PDB_EXPORTS_MOST];
	unsigned next_exports;
};

void pdb_namer_init(struct pdb_namer *n, const struct pdb *p, struct msf_io *io, bool plain);
void pdb_namer_release(struct pdb_namer *n);

/* The name of a function, from its record's name and type. Parameters that cannot be read are left out. 0; -EAGAIN;
 * -ENOMEM. */
int pdb_func_name(struct pdb_namer *n, const struct pdb_code *c, const char *name, uint32_t type, struct buf *out);

/* The name of the function that a call inlined. Empty when it cannot be read. 0; -EAGAIN; -ENOMEM. */
int pdb_inlinee_name(struct pdb_namer *n, const struct pdb_code *c, uint32_t id, struct buf *out);

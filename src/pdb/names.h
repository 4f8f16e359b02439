/* Makes readable names of functions: with the types of their parameters and, for inlined functions, with
 * their class or namespace. Only one thread may use a struct pdb_namer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/module.h"

struct pdb_exports {
	unsigned module;
	uint8_t *bytes;
	struct span ids; /* pairs of 32-bit ids: the module's own id, and the PDB's id of that record */
};

#define PDB_EXPORTS_MOST 8

struct pdb_namer {
	const struct pdb *p;
	struct msf_io *io;
	bool plain; /* make names without parameters */
	struct pdb_exports exports[PDB_EXPORTS_MOST]; /* a cache of the exports of some modules */
	unsigned next_exports; /* the entry to replace next, modulo PDB_EXPORTS_MOST */
	struct pdb_code code;  /* the module of the last look-up (find.h), if has_code */
	bool has_code;
};

void pdb_namer_init(struct pdb_namer *n, const struct pdb *p, struct msf_io *io, bool plain);
void pdb_namer_release(struct pdb_namer *n);

/* Adds the name of a function to `out`, from the `name` and the `type` in the function's record. Leaves out
 * parameters that cannot be read. 0; -EAGAIN; -ENOMEM. */
int pdb_func_name(struct pdb_namer *n, const struct pdb_code *c, const char *name, uint32_t type, struct buf *out);

/* Adds the name of an inlined function to `out`; nothing if the name cannot be read. 0; -EAGAIN; -ENOMEM. */
int pdb_inlinee_name(struct pdb_namer *n, const struct pdb_code *c, uint32_t id, struct buf *out);

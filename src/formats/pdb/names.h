/* Makes readable names of functions: with the types of their parameters and, for inlined functions, with
 * their class or namespace. Only one thread may use a struct pdb_namer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/module.h"

/* An id of a module, and the PDB's id of that record. */
struct pdb_export {
	uint32_t local, global, order;
};

/* The exports of a module, sorted by `local`. */
struct pdb_exports {
	bool read;
	struct pdb_export *at;
	size_t n;
};

struct pdb_namer {
	const struct pdb *p;
	struct msf_io *io;
	bool plain; /* make names without parameters */
	unsigned searches; /* how many definitions of classes were searched for the present name */
	struct pdb_definitions *definitions; /* NULL: not indexed yet */
	struct pdb_exports *exports; /* of each module; NULL: none was read yet */
	uint32_t *by_name; /* numbers of all modules, sorted by name without regard to case; NULL: not sorted yet */
};

void pdb_namer_init(struct pdb_namer *n, const struct pdb *p, struct msf_io *io, bool plain);
void pdb_namer_release(struct pdb_namer *n);

/* Adds the name of a function to `out`, from the `name` and the `type` in the function's record. Leaves out
 * parameters that cannot be read. 0; -EAGAIN; -ENOMEM. */
int pdb_func_name(struct pdb_namer *n, const struct pdb_code *c, const char *name, uint32_t type, struct buf *out);

/* Adds the name of an inlined function to `out`; nothing if the name cannot be read. 0; -EAGAIN; -ENOMEM. */
int pdb_inlinee_name(struct pdb_namer *n, const struct pdb_code *c, uint32_t id, struct buf *out);

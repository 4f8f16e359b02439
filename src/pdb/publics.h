/* Public symbols of a PDB: names of addresses, mangled, where no module says more. In section and offset. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/pdb.h"

struct pdb_public {
	uint16_t section;
	bool function; /* it says that it is one */
	uint32_t off;
	char *name;
};
void pdb_public_release(struct pdb_public *s);

/* The one at or nearest before an address in code. -ENOENT: there is none in its section; -EAGAIN; -EBADMSG,
 * -ENOMEM; `e` says so. pdb_public_release() in every case. */
int pdb_public_before(const struct pdb *p, struct msf_io *io, unsigned section, uint32_t off,
	struct pdb_public *out, struct err *e);

/* All of them in code, ascending, and of several at one address the best: a function first. Freed by
 * pdb_publics_free(). */
struct pdb_publics {
	struct pdb_public *at; /* whose names lie in `text` */
	size_t n, room;
	uint8_t *text;
};
int pdb_publics(const struct pdb *p, struct msf_io *io, struct pdb_publics *out, struct err *e);
void pdb_publics_release(struct pdb_publics *all);

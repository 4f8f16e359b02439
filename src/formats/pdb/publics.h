/* Reads the public symbols of a PDB: addresses with mangled names, for code that no module describes. An
 * address is a section and an offset. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/pdb.h"

struct pdb_public {
	uint16_t section;
	bool function; /* the symbol is flagged as a function */
	uint32_t off;
	char *name;
};
static inline void pdb_public_release(struct pdb_public *s)
{
	free(s->name);
	s->name = NULL;
}

/* Finds the symbol at an address in code, or else the nearest symbol before the address. 0; -ENOENT: the
 * section has no symbol at or before the address; -EAGAIN; -EBADMSG, -ENOMEM with the reason in `e`. Call
 * pdb_public_release() in every case. */
int pdb_public_before(const struct pdb *p, struct msf_io *io, unsigned section, uint32_t off,
	struct pdb_public *out, struct err *e);

/* All public symbols in code, ascending, one for each address; functions are preferred. Call
 * pdb_publics_release() in every case. */
struct pdb_publics {
	struct pdb_public *at; /* their names point into the stream */
	size_t n, room;
	uint8_t *copy; /* a copy of the stream; NULL: the stream lies in memory in one piece */
};
int pdb_publics(const struct pdb *p, struct msf_io *io, struct pdb_publics *out, struct err *e);
void pdb_publics_release(struct pdb_publics *all);

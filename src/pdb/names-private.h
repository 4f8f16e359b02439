/* Declarations that foreign.c, names.c and types.c share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/names.h"

/* If bit 31 of the id is set, it refers to another module: replaces it by the PDB's own id. Other ids stay
 * unchanged. 0; -ENOENT: not found; -EAGAIN; -ENOMEM. */
int pdb_resolve_id(struct pdb_namer *n, const struct pdb_code *c, uint32_t *id);

/* pdb_record() for an id that may belong to another module. Call pdb_record_release() in every case. */
int pdb_record_of(struct pdb_namer *n, const struct pdb_code *c, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out);

/* Adds the text at offset `at` of a record. */
int pdb_add_text(struct span body, size_t at, struct buf *out);

/* Adds a type in C++ syntax; for a function type, "(int, char const *) const". 0; -ENOENT: the type cannot be
 * read; -EAGAIN, -ENOMEM, -EFBIG. */
int pdb_add_type(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth, struct buf *out);
int pdb_add_parameters(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth,
	struct buf *out);

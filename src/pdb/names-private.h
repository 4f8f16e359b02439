/* What names.c and types.c share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/names.h"

/* Follows an id with bit 31 into the module that it is of. 0; -ENOENT; -EAGAIN; -ENOMEM. */
int pdb_resolve_id(struct pdb_namer *n, const struct pdb_code *c, uint32_t *id);

/* pdb_record() of an id that may be another module's. pdb_record_release() in every case. */
int pdb_record_of(struct pdb_namer *n, const struct pdb_code *c, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out);

/* The text at `at` of a record. */
int pdb_add_text(struct span body, size_t at, struct buf *out);

/* A type as C++ spells it; "(int, char const *) const" of a function's type. 0; -ENOENT: it cannot be read;
 * -EAGAIN, -ENOMEM, -EFBIG. */
int pdb_add_type(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth, struct buf *out);
int pdb_add_parameters(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth,
	struct buf *out);

/* Declarations that foreign.c, names.c, types.c and udt.c share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/names.h"

#define PDB_ID_FOREIGN 0x80000000u /* marks an id that refers to another module */

/* Replaces an id that refers to another module by the PDB's own id. 0; -ENOENT: the id was not found in that module;
 * -EAGAIN; -ENOMEM. */
int pdb_resolve_foreign(struct pdb_namer *n, const struct pdb_code *c, uint32_t *id);

/* pdb_resolve_foreign(), but leaves the PDB's own ids unchanged. */
static inline int pdb_resolve_id(struct pdb_namer *n, const struct pdb_code *c, uint32_t *id)
{
	return *id & PDB_ID_FOREIGN ? pdb_resolve_foreign(n, c, id) : 0;
}

/* Like pdb_record(), for a number that can be an id of another module. Call pdb_record_release() in every case. */
int pdb_record_of(struct pdb_namer *n, const struct pdb_code *c, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out);

/* Searches for the definition of a class, as pdb_definition() does, in a file that is whole. It makes an index, which
 * `*index` keeps for further searches. */
struct pdb_definitions;
int pdb_definition_indexed(const struct pdb *p, struct msf_io *io, struct pdb_definitions **index,
	const struct pdb_record *declaration, uint32_t *number);
void pdb_definitions_free(struct pdb_definitions *index);

/* Adds the text at offset `at` of a record to `out`; nothing if the text has no end. 0; errors of buf_add(). */
int pdb_add_text(struct span body, size_t at, struct buf *out);

/* pdb_add_type() adds a type in C++ syntax, such as "char const *". pdb_add_parameters() adds the parameters of a
 * function type: "(int, char const *) const". 0; -ENOENT: the type cannot be read; -EAGAIN, -ENOMEM, -EFBIG. */
int pdb_add_type(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth, struct buf *out);
int pdb_add_parameters(struct pdb_namer *n, const struct pdb_code *c, uint32_t type, unsigned depth,
	struct buf *out);

/* ---- udt.c: records of classes, structures and unions, and numbers in records -------------- */

enum { LF_CLASS = 0x1504, LF_STRUCTURE = 0x1505, LF_UNION = 0x1506, LF_INTERFACE = 0x1519 };
enum { UDT_DECLARED = 0x80, UDT_UNIQUE = 0x200 };

struct pdb_udt {
	uint64_t size;
	bool declared; /* the definition is another record */
	const char *name, *unique; /* pointers into the record; `unique` may be NULL */
};

/* Reads a record. False: the record is not of a class, structure or union, or is broken. */
bool pdb_udt(const struct pdb_record *r, struct pdb_udt *out);

/* Reads the number at offset `at` of a record, and writes the offset of its end to `*end`. False: the number is
 * cut short. */
bool pdb_number(struct span body, size_t at, uint64_t *out, size_t *end);

/* Reads type records of classes, structures and unions, and numbers in records. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/pdb.h"

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

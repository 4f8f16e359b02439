/* Portable PDBs into a writer: which line of which document the instructions of each method are. Only
 * for the look-ups of symb/: a method is the row that it has in the program's table, and has the addresses
 * from PPDB_METHOD of that row on, one for each byte of its instructions. Names are not in such files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "gsym/writer.h"

#include <stdbool.h>

#define PPDB_METHOD(row) ((uint64_t)(row) << 32)

bool ppdb_is(struct span file); /* by its first bytes: a Portable PDB, or a program */

/* The file, or the one that is embedded in a program. 0; -ENODATA: a program without one; -EBADMSG,
 * -ENOTSUP, -EFBIG, -ENOMEM; `e` says so. */
int gsym_from_ppdb(struct gsym_writer *w, struct span file, struct err *e);

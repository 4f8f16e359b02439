/* Reads Portable PDBs into a GSYM writer: the document and line of the instructions of each method. Only for
 * the look-ups of src/symb/. A method is identified by its row in the program's table of methods. The method
 * has one address for each byte of its instructions, from PPDB_METHOD of its row on. Portable PDBs have no
 * names of methods, but their programs have. A file has the whole path as its name, and its language, if that is
 * known, in the place of a directory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "formats/gsym/writer.h"

#include <stdbool.h>

#define PPDB_METHOD(row) ((uint64_t)(row) << 32)

bool ppdb_is(struct span file); /* by its first bytes: a Portable PDB, or a program */

/* Converts the file, or the Portable PDB embedded in a program, or the names of a program's methods without lines.
 * 0; -ENODATA: the program has neither;
 * -EBADMSG, -ENOTSUP, -EFBIG, -ENOMEM; `e` has the reason. */
int gsym_from_ppdb(struct gsym_writer *w, struct span file, struct err *e);

/* Portable PDBs also stand inside of programs, where the program's reader asks what they have. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "id/module.h"

/* 0; -EBADMSG when it is not a Portable PDB, or is broken; and the other answers of a probe. */
int ppdb_features(struct view *v, unsigned *features);

/* Holds a whole file against the checksum that its program has of it, "SHA256:00ff…": the digest
 * of the file with zeros in place of its identity, which was made from that. 1: it is so. 0: it
 * cannot be checked (an unknown family, no digits, no Portable PDB). -EBADMSG: it is another; `e`
 * says so. Others: the disk, memory. */
int ppdb_checksum(struct view *v, const char *checksum, struct err *e);
/* What compilers write into the program of a Portable PDB, "SHA256:00ff…", made of the whole file. 0; -EBADMSG:
 * it is not one; the disk, memory. */
int ppdb_make_checksum(struct view *v, char out[static MODULE_CHECKSUM_MAX], struct err *e);

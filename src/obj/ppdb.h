/* Reads Portable PDBs: their checksums, and their worth. The reader of PE files needs the worth, because a PE
 * file can contain a Portable PDB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "id/module.h"
#include "id/worth.h"

/* Reads the worth. 0; -EBADMSG: not a Portable PDB, or a broken one; -EAGAIN: the view lacks bytes; errors
 * of the disk. */
int ppdb_worth(struct view *v, struct worth *out);

/* Compares a whole file with the checksum in its program, "SHA256:00ff…". The checksum is the digest of the
 * file with zeros in place of the identity, because compilers make the identity from the digest. 1: they are
 * equal. 0: the file cannot be checked (an unknown algorithm, no digits, not a Portable PDB). -EBADMSG: they
 * differ, and `e` says so. Other errors come from the disk or from memory. */
int ppdb_checksum(struct view *v, const char *checksum, struct err *e);
/* Makes the checksum that compilers write into the program of a Portable PDB, "SHA256:00ff…", from the
 * whole file. 0; -EBADMSG: not a Portable PDB; errors of the disk or memory. */
int ppdb_make_checksum(struct view *v, char out[static MODULE_CHECKSUM_MAX], struct err *e);

/* Declarations that the files of formats/pdb/ share: the steps of pdb_open(). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <errno.h>

#include "formats/pdb/pdb.h"

/* Numbers of optional streams, which stream 3 lists; MSF_NO_STREAM: the PDB lacks that stream. */
struct pdb_optional {
	uint16_t to_source, from_source, sections, original;
};

/* Combines the results of two parts, each of which can lack bytes: other errors take precedence over -EAGAIN. */
static inline int pdb_worse(int a, int b)
{
	return a < 0 && a != -EAGAIN ? a : b < 0 ? b : a;
}

/* The steps of pdb_open(). */
int pdb_read_addresses(struct pdb *p, struct msf_io *io, const struct pdb_optional *o, struct err *e);
int pdb_read_records(struct pdb *p, struct msf_io *io, struct pdb_records *out, uint32_t stream, struct err *e);

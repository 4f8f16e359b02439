/* Looks up addresses in a PDB, for `symfs gsym lookup`. The first addresses are looked up in the PDB itself; for
 * many addresses the PDB is converted to GSYM. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "gsym/gsym.h"

#include <stdbool.h>

struct gsym_pdb;

/* `plain`: names have no parameters. `many`: the caller will look up many addresses, so the first look-up converts
 * the PDB. The file must outlive *out. 0; -EBADMSG, -ENOTSUP, -ENODATA, -ENOMEM with the reason in `e`. Call
 * gsym_pdb_free() in every case, also after an error. */
int gsym_pdb_open(struct gsym_pdb **out, struct span file, bool plain, bool many, struct err *e);
void gsym_pdb_free(struct gsym_pdb *p);

/* Looks up an address. 0; -ENOENT: no function contains the address; -EBADMSG, -ENOMEM with the reason in `e`.
 * The texts of `out` stay valid until the next call. */
int gsym_pdb_find(struct gsym_pdb *p, uint64_t addr, struct gsym_hit *out, struct err *e);

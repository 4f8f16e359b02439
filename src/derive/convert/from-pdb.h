/* Reads PDBs into a GSYM writer: functions with lines and inlined calls, and public symbols where there are
 * no functions. Addresses are relative to the image. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "derive/convert/make.h"
#include "formats/gsym/writer.h"

/* Reads `plain_names`, `threads` and `progress` of `o`. 0; -ENODATA: the PDB has no symbols, only types; -EBADMSG,
 * -ENOTSUP, -ENOMEM; `e` has the reason. */
int gsym_from_pdb(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o, struct err *e);

/* Makes GSYM of a few addresses of a PDB, and reads only the bytes that these addresses need. The PDB may be a
 * sparse file. Look-ups at these addresses give the same frames as in the GSYM of the whole PDB; other look-ups
 * give nothing, or a wrong answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "gsym/writer.h"
#include "pdb/msf.h"

#define PARTIAL_ADDRESSES_MOST 4096

/* Fetches the missing ranges; afterwards the view has them. 0; an error ends gsym_partial(). */
typedef int partial_fill(void *ctx, const struct msf_lack *lacks, unsigned n);

/* Adds the functions at `n` addresses, relative to the image. 0, also if no function has any of the addresses;
 * -ENODATA: the PDB has no symbols; -ENOMSG, -ENOTSUP, -EBADMSG, -ENOMEM; errors of `fill`. */
int gsym_partial(struct gsym_writer *w, const struct view *v, const uint32_t *addrs, size_t n, partial_fill *fill,
	void *ctx, struct err *e);

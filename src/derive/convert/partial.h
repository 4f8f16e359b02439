/* Makes GSYM of a few addresses of a PDB, and reads only the bytes that these addresses need. The PDB may be a
 * sparse file. Look-ups at these addresses give the same frames as in the GSYM of the whole PDB; other look-ups
 * give nothing, or a wrong answer. Only one thread may use a struct partial_pdb. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/gsym/writer.h"
#include "formats/pdb/msf.h"

#define PARTIAL_ADDRESSES_MOST 4096

struct partial_pdb;

/* Fetches the missing ranges; afterwards the view has them. 0; an error ends partial_open() or partial_write(). */
typedef int partial_fill(void *ctx, const struct msf_lack *lacks, unsigned n);

/* `plain`: names have no parameters. `fill`: NULL if the view has all bytes. 0; -ENODATA: the PDB has no symbols;
 * -ENOMSG, -ENOTSUP, -EBADMSG, -ENOMEM; errors of `fill`. Call partial_free() in every case. */
int partial_open(struct partial_pdb **out, const struct view *v, bool plain, partial_fill *fill, void *ctx,
	struct err *e);
void partial_free(struct partial_pdb *p);

/* Adds the functions at `n` addresses, relative to the image, to an empty writer; if no function has any of the
 * addresses, a function without a name at another address, because GSYM must have a function. 0; -EBADMSG, -ENOMEM;
 * errors of `fill`. */
int partial_write(struct partial_pdb *p, struct gsym_writer *w, const uint32_t *addrs, size_t n, struct err *e);

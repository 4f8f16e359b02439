/* Declarations that the readers of the two forms of a PDB's container share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/pdb/msf.h"

#include <errno.h>

/* Reads bytes of the file. 0; -EAGAIN: the bytes are not downloaded yet, and io->lacks lists them; -EBADMSG:
 * the bytes are past the end of the file. */
int msf_file_read(struct msf_io *io, uint64_t off, void *p, size_t n, const char *what, struct err *e);

#define MSF_MAP_AT 52 /* offset of the map in the superblock. The map is the numbers of the blocks that list the
			 directory's blocks */

/* Reads the size and number of the blocks into `m`, and the size of the directory in bytes. As msf_open(). */
int msf_superblock(struct msf *m, struct msf_io *io, uint32_t *directory, struct err *e);
/* Finds the offset of a block in the file. 0, -EBADMSG. */
static inline int msf_block(const struct msf *m, uint32_t block, uint64_t *off, const char *what, struct err *e)
{
	if (!block || block >= m->n_blocks)
		return err_set(e, -EBADMSG, "is broken: %s is in block %u of %u", what, block, m->n_blocks);
	*off = (uint64_t)block << m->block_bits;
	return 0;
}

extern const char msfz_magic[32];

/* Parts of msf_open() and msf_read(), for an MSFZ file. */
int msfz_open(struct msf *m, struct msf_io *io, struct err *e);
int msfz_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, uint8_t *p, size_t n,
	const char *what, struct err *e);

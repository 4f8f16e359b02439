/* Declarations that the readers of the two forms of a PDB's container share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "pdb/msf.h"

/* Reads bytes of the file. 0; -EAGAIN: the bytes are not downloaded yet, and io->lacks lists them; -EBADMSG:
 * the bytes are past the end of the file. */
int msf_file_read(struct msf_io *io, uint64_t off, void *p, size_t n, const char *what, struct err *e);

extern const char msfz_magic[32];

/* Parts of msf_open() and msf_read(), for an MSFZ file. */
int msfz_open(struct msf *m, struct msf_io *io, struct err *e);
int msfz_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, uint8_t *p, size_t n,
	const char *what, struct err *e);

/* Reads bytes of a PDB file, and records byte ranges that are not downloaded yet. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/pdb/msf-private.h"

#include <stdlib.h>

void msf_io_init(struct msf_io *io, const struct view *v)
{
	io->v = *v;
	io->n_lacks = 0;
	for (unsigned i = 0; i < MSF_CHUNKS_KEPT; i++)
		io->chunks[i].bytes = NULL;
	io->expanded = 0;
}

void msf_io_release(struct msf_io *io)
{
	for (unsigned i = 0; i < MSF_CHUNKS_KEPT; i++)
		free(take(io->chunks[i].bytes));
}

static void add_lack(struct msf_io *io, uint64_t off, uint64_t n)
{
	struct msf_lack *last = io->n_lacks ? &io->lacks[io->n_lacks - 1] : NULL;

	if (last && last->off + last->n == off)
		last->n += n;
	else if (io->n_lacks < MSF_LACKS_MOST)
		io->lacks[io->n_lacks++] = (struct msf_lack){off, n};
}

int msf_file_read(struct msf_io *io, uint64_t off, void *p, size_t n, const char *what, struct err *e)
{
	int r = view_read(&io->v, off, p, n);

	if (r == -EAGAIN)
		add_lack(io, io->v.want_off, io->v.want_len);
	else if (r == -ENODATA)
		return err_set(e, -EBADMSG, "is broken: %s is past the end of the file", what);
	else if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	return r;
}

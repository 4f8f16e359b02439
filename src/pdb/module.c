/* Loads one module of a PDB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "pdb/module-private.h"

#define SIGNATURE_C13 4

int pdb_code_open(struct pdb_code *c, const struct pdb *p, struct msf_io *io, unsigned module, struct err *e)
{
	const struct pdb_module *m = &p->modules[module];
	size_t n = (size_t)m->symbols + m->lines_old + m->lines;
	const uint8_t *bytes;
	int r;

	*c = (struct pdb_code){.p = p, .module = module};
	if (m->stream == MSF_NO_STREAM || n < 4)
		return -ENOENT;
	r = msf_borrow(&p->msf, io, m->stream, 0, n, &bytes, &c->copy, "a module", e);
	if (r < 0)
		return r;
	if (m->symbols >= 4 && le32(bytes) != SIGNATURE_C13)
		return -ENOENT; /* the format of Visual C++ 6 and before */
	c->symbols = (struct span){bytes, m->symbols};
	c->lines = (struct span){bytes + m->symbols + m->lines_old, m->lines};
	r = pdb_read_symbols(c);
	if (r == 0)
		r = pdb_read_lines(c);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void pdb_code_release(struct pdb_code *c)
{
	free(take(c->copy));
	free(take(c->funcs));
	free(take(c->by_func));
	free(take(c->next_func));
	free(take(c->first_func));
	free(take(c->by_fragment));
	for (size_t i = 0; i < c->n_fragments; i++)
		free(take(c->fragments[i].entries));
	c->n_fragments = 0;
	free(take(c->fragments));
	free(take(c->inlinees));
}

/* Opens a PDB: its container, then the streams that form its index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pdb/pdb-private.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_TYPES = 2, STREAM_IDS = 4 };

/* Combines the results of two parts, each of which can lack bytes: other errors take precedence over
 * -EAGAIN. */
static int worse(int a, int b)
{
	return a < 0 && a != -EAGAIN ? a : b < 0 ? b : a;
}

static int read_streams(struct pdb *p, struct msf_io *io, struct err *e)
{
	struct pdb_optional o;
	bool has_ids;
	int r = pdb_read_info(p, io, &has_ids, e), dbi;

	if (r < 0 && r != -EAGAIN)
		return r;
	dbi = pdb_read_dbi(p, io, &o, e);
	r = worse(r, dbi);
	if (r < 0)
		return r;
	r = pdb_read_addresses(p, io, &o, e);
	r = worse(r, pdb_read_records(p, io, &p->types, STREAM_TYPES, e));
	return has_ids ? worse(r, pdb_read_records(p, io, &p->ids, STREAM_IDS, e)) : r;
}

int pdb_open(struct pdb *p, struct msf_io *io, struct err *e)
{
	int r;

	memset(p, 0, sizeof(*p));
	p->records = p->publics = p->fpo = p->frame_data = MSF_NO_STREAM;
	r = msf_open(&p->msf, io, e);
	if (r == 0)
		r = read_streams(p, io, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int pdb_has_symbols(const struct pdb *p, struct err *e)
{
	if (p->has_dbi && p->n_sections)
		return 0;
	return err_set(e, -ENODATA, "has no symbols: %s",
		p->has_dbi ? "it does not say where its sections are" : "it is a PDB of types alone");
}

void pdb_release(struct pdb *p)
{
	msf_release(&p->msf);
	free(take(p->modules));
	free(take(p->module_info));
	free(take(p->contribs));
	free(take(p->sections));
	free(take(p->original));
	free(take(p->moved));
	free(take(p->moved_from));
	free(take(p->types.marks));
	free(take(p->types.steps));
	free(take(p->ids.steps));
	free(take(p->name_copy));
	free(take(p->ids.marks));
}

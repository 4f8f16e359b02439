/* Makes names of functions from the types and ids of a PDB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/names.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/names-private.h"

#include <string.h>

enum { LF_FUNC_ID = 0x1601, LF_MFUNC_ID = 0x1602, LF_STRING_ID = 0x1605 };

/* Removes the last part of a name, from offset `before`, if that part could not be read. A name without parameters
 * is better than no name. */
static int keep_readable(struct buf *out, size_t before, int r)
{
	if (r == 0 || r == -EAGAIN || r == -ENOMEM)
		return r;
	buf_cut(out, before);
	return 0;
}

int pdb_func_name(struct pdb_namer *n, const struct pdb_code *c, const char *name, uint32_t type, struct buf *out)
{
	size_t before;
	int r = buf_add(out, name, strlen(name));

	n->searches = 0;
	if (r < 0 || n->plain || !type)
		return r;
	before = out->n;
	return keep_readable(out, before, pdb_add_parameters(n, c, type, 0, out));
}

/* Adds the namespace of a function and "::". */
static int add_scope(struct pdb_namer *n, const struct pdb_code *c, uint32_t id, struct buf *out)
{
	struct pdb_record rec;
	int r = pdb_record_of(n, c, &n->p->ids, id, &rec);

	if (r == 0 && rec.leaf == LF_STRING_ID)
		r = pdb_add_text(rec.body, 4, out);
	if (r == 0)
		r = buf_adds(out, "::");
	pdb_record_release(&rec);
	return r == -ENOENT ? 0 : r;
}

int pdb_inlinee_name(struct pdb_namer *n, const struct pdb_code *c, uint32_t id, struct buf *out)
{
	struct pdb_record rec;
	size_t before = out->n;
	int r = pdb_record_of(n, c, &n->p->ids, id, &rec);

	n->searches = 0;
	if (r == 0 && (rec.body.n < 8 || (rec.leaf != LF_FUNC_ID && rec.leaf != LF_MFUNC_ID)))
		r = -ENOENT;
	if (r == 0 && le32(rec.body.p) && rec.leaf == LF_FUNC_ID)
		r = add_scope(n, c, le32(rec.body.p), out);
	if (r == 0 && rec.leaf == LF_MFUNC_ID)
		r = pdb_add_type(n, c, le32(rec.body.p), 0, out);
	if (r == 0 && rec.leaf == LF_MFUNC_ID)
		r = buf_adds(out, "::");
	if (r == 0)
		r = pdb_add_text(rec.body, 8, out);
	r = keep_readable(out, before, r);
	before = out->n;
	if (r == 0 && !n->plain && out->n && rec.body.n >= 8)
		r = keep_readable(out, before, pdb_add_parameters(n, c, le32(rec.body.p + 4), 0, out));
	pdb_record_release(&rec);
	return r;
}

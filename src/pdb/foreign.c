/* Resolves ids with which one module of a PDB refers to another module's records, as MSVC's whole-program
 * optimization writes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "pdb/names-private.h"

#include <string.h>
#include <strings.h>

#define PART_EXPORTS 0xf8

void pdb_namer_init(struct pdb_namer *n, const struct pdb *p, struct msf_io *io, bool plain)
{
	*n = (struct pdb_namer){.p = p, .io = io, .plain = plain};
}

void pdb_namer_release(struct pdb_namer *n)
{
	for (unsigned i = 0; i < PDB_EXPORTS_MOST; i++)
		free(take(n->exports[i].bytes));
	pdb_code_release(&n->code);
	n->has_code = false;
}

/* Reads entry `nth` of the imports: the name of a module, and ids of that module. */
static bool import_at(struct span imports, uint32_t nth, uint32_t *name, struct span *ids)
{
	size_t at = 0;
	const uint8_t *h;

	while ((h = span_at(imports, at, 8))) {
		uint32_t n = le32(h + 4);

		if (n > (imports.n - at - 8) / 4)
			return false;
		if (nth-- == 0) {
			*name = le32(h);
			*ids = (struct span){h + 8, 4 * (size_t)n};
			return true;
		}
		at += 8 + 4 * (size_t)n;
	}
	return false;
}

static int module_named(const struct pdb *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_modules; i++)
		if (strcasecmp(p->modules[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void find_exports(struct pdb_exports *x, size_t n)
{
	struct span lines = {x->bytes, n};
	size_t at = 0;
	const uint8_t *h;

	while ((h = span_at(lines, at, 8))) {
		uint32_t size = le32(h + 4);

		if (size > lines.n - at - 8)
			return;
		if (le32(h) == PART_EXPORTS)
			x->ids = (struct span){h + 8, size};
		at += 8 + (((size_t)size + 3) & ~(size_t)3);
	}
}

static int load_exports(struct pdb_namer *n, unsigned module, const struct pdb_exports **out)
{
	const struct pdb_module *m = &n->p->modules[module];
	struct pdb_exports *x;
	int r;

	for (unsigned i = 0; i < PDB_EXPORTS_MOST; i++)
		if (n->exports[i].bytes && n->exports[i].module == module) {
			*out = &n->exports[i];
			return 0;
		}
	if (m->stream == MSF_NO_STREAM || !m->lines)
		return -ENOENT;
	x = &n->exports[n->next_exports++ % PDB_EXPORTS_MOST];
	free(take(x->bytes));
	*x = (struct pdb_exports){.module = module};
	r = msf_load(&n->p->msf, n->io, m->stream, m->symbols + m->lines_old, m->lines, &x->bytes, "a module", NULL);
	if (r < 0)
		return r;
	find_exports(x, m->lines);
	*out = x;
	return 0;
}

/* An id of another module consists of an entry of the imports (`id >> 20 & 0x7ff`) and an index in that entry
 * (`id & 0xfffff`). -ENOENT: the module or the id in it does not exist. */
int pdb_resolve_foreign(struct pdb_namer *n, const struct pdb_code *c, uint32_t *id)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(64u << 10);
	const struct pdb_exports *x = NULL;
	uint32_t number, local;
	struct span ids;
	int module, r;

	if (!c || !import_at(c->imports, *id >> 20 & 0x7ff, &number, &ids) || (*id & 0xfffff) >= ids.n / 4)
		return -ENOENT;
	local = le32(ids.p + 4 * (size_t)(*id & 0xfffff));
	r = pdb_name(n->p, n->io, number, &name, NULL);
	if (r < 0)
		return r == -EBADMSG ? -ENOENT : r;
	module = module_named(n->p, buf_text(&name));
	if (module < 0)
		return -ENOENT;
	r = load_exports(n, (unsigned)module, &x);
	for (size_t i = 0; r == 0 && i + 8 <= x->ids.n; i += 8)
		if (le32(x->ids.p + i) == local) {
			*id = le32(x->ids.p + i + 4);
			return *id & PDB_ID_FOREIGN ? -ENOENT : 0;
		}
	return r < 0 ? r : -ENOENT;
}

int pdb_record_of(struct pdb_namer *n, const struct pdb_code *c, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out)
{
	int r = pdb_resolve_id(n, c, &number);

	*out = (struct pdb_record){0};
	if (r == 0)
		r = pdb_record(n->p, n->io, from, number, out, NULL);
	return r == -EBADMSG ? -ENOENT : r;
}

int pdb_add_text(struct span body, size_t at, struct buf *out)
{
	const uint8_t *end = at < body.n ? memchr(body.p + at, 0, body.n - at) : NULL;

	return end ? buf_add(out, body.p + at, (size_t)(end - body.p) - at) : 0;
}


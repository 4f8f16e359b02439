/* Resolves ids with which one module of a PDB refers to another module's records, as MSVC's whole-program
 * optimization writes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/names-private.h"

#include <string.h>
#include <strings.h>

#define PART_EXPORTS 0xf8

void pdb_namer_init(struct pdb_namer *n, const struct pdb *p, struct msf_io *io, bool plain)
{
	*n = (struct pdb_namer){.p = p, .io = io, .plain = plain};
}

void pdb_namer_release(struct pdb_namer *n)
{
	for (uint32_t i = 0; n->exports && i < n->p->n_modules; i++)
		free(n->exports[i].at);
	free(take(n->exports));
	free(take(n->by_name));
	pdb_definitions_free(take(n->definitions));
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

static int compare_names(const void *a, const void *b, void *modules)
{
	const struct pdb_module *all = modules;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int r = strcasecmp(all[x].name, all[y].name);

	return r ? r : (x > y) - (x < y);
}

/* The first module of that name. -ENOENT; -ENOMEM. */
static int module_named(struct pdb_namer *n, const char *name)
{
	uint32_t from, to = n->p->n_modules;

	if (!n->by_name) {
		n->by_name = malloc(((size_t)to + 1) * sizeof(*n->by_name));
		for (uint32_t i = 0; n->by_name && i < to; i++)
			n->by_name[i] = i;
		if (n->by_name && to)
			qsort_r(n->by_name, to, sizeof(*n->by_name), compare_names, n->p->modules);
	}
	if (!n->by_name)
		return -ENOMEM;
	from = (uint32_t)search_first(i, 0, to, strcasecmp(n->p->modules[n->by_name[i]].name, name) < 0);
	return from < n->p->n_modules && strcasecmp(n->p->modules[n->by_name[from]].name, name) == 0
			? (int)n->by_name[from] : -ENOENT;
}

static int compare_exports(const void *a, const void *b)
{
	const struct pdb_export *x = a, *y = b;

	return COMPARE(x->local, y->local) ?: COMPARE(x->order, y->order);
}

/* Takes the last list of exports in the parts of a module. */
static int take_exports(struct pdb_exports *x, struct span lines)
{
	struct span ids = {0};
	size_t at = 0;
	const uint8_t *h;

	while ((h = span_at(lines, at, 8))) {
		uint32_t size = le32(h + 4);

		if (size > lines.n - at - 8)
			break;
		if (le32(h) == PART_EXPORTS)
			ids = (struct span){h + 8, size};
		at += 8 + (((size_t)size + 3) & ~(size_t)3);
	}
	x->at = malloc((ids.n / 8 + 1) * sizeof(*x->at));
	if (!x->at)
		return -ENOMEM;
	for (; x->n < ids.n / 8; x->n++)
		x->at[x->n] = (struct pdb_export){le32(ids.p + 8 * x->n), le32(ids.p + 8 * x->n + 4), (uint32_t)x->n};
	sort_array(x->at, x->n, sizeof(*x->at), compare_exports);
	x->read = true;
	return 0;
}

static int load_exports(struct pdb_namer *n, unsigned module, const struct pdb_exports **out)
{
	const struct pdb_module *m = &n->p->modules[module];
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (!n->exports)
		n->exports = calloc((size_t)n->p->n_modules + 1, sizeof(*n->exports));
	if (!n->exports)
		return -ENOMEM;
	*out = &n->exports[module];
	if (n->exports[module].read)
		return 0;
	if (m->stream == MSF_NO_STREAM || !m->lines)
		return -ENOENT;
	r = msf_load(&n->p->msf, n->io, m->stream, m->symbols + m->lines_old, m->lines, &bytes, "a module", NULL);
	return r < 0 ? r : take_exports(&n->exports[module], (struct span){bytes, m->lines});
}

static int find_export(const struct pdb_exports *x, uint32_t local, uint32_t *id)
{
	size_t from = search_first(i, 0, x->n, x->at[i].local < local);

	if (from == x->n || x->at[from].local != local || x->at[from].global & PDB_ID_FOREIGN)
		return -ENOENT;
	*id = x->at[from].global;
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
	module = module_named(n, buf_text(&name));
	if (module < 0)
		return module;
	r = load_exports(n, (unsigned)module, &x);
	return r < 0 ? r : find_export(x, local, id);
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


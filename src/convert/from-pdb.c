/* Converts PDBs, module by module. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/from-pdb.h"
#include "base/grow.h"
#include "base/util.h"
#include "pdb/frames.h"
#include "pdb/names.h"
#include "pdb/publics.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (64u << 10)
#define CACHE_SLOTS 8192u

/* A cache slot, from a number of the PDB to one of the writer. A newer entry replaces the older one. */
struct known {
	uint64_t key; /* 0: an empty slot */
	uint32_t number;
};

/* A node of the tree of inlined calls. Its ranges are a list in `spans`. */
struct node {
	uint32_t name, call_file, call_line;
	int site, parent, first, last, next; /* indices of nodes; -1: none */
	int first_span, last_span;
};

struct node_span {
	uint32_t from, to;
	int next;
};

struct job {
	struct gsym_writer *w;
	struct pdb pdb;
	struct msf_io io;
	struct pdb_namer names;
	struct pdb_publics publics;
	struct pdb_contrib *by_module; /* contributions in order of module */
	struct known *files, *inlinees;

	struct node *nodes;
	size_t n_nodes, nodes_room;
	struct node_span *spans;
	size_t n_spans, spans_room;
	int *last_of_site; /* by site: its newest node; -1: none */
	size_t sites_room;
};

/* ---- texts -------------------------------------------------------------------------------- */

static struct known *known_at(struct known *all, uint64_t key)
{
	return &all[key * 0x9e3779b97f4a7c15u >> 51];
}

static int file_of(struct job *j, const struct pdb_code *c, uint32_t file, uint32_t *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(TEXT_MOST);
	uint32_t number = pdb_file_name(c, file);
	struct known *k = known_at(j->files, number);
	int r;

	*out = 0;
	if (!number)
		return 0;
	if (k->key != number) {
		r = pdb_name(&j->pdb, &j->io, number, &path, NULL);
		if (r == -EBADMSG || r == -EFBIG)
			return 0;
		if (r == 0)
			r = gsym_add_path(j->w, buf_text(&path), path.n, &k->number);
		if (r < 0)
			return r;
		k->key = number;
	}
	*out = k->number;
	return 0;
}

/* An id with bit 31 set is local to its module. */
static int inlinee_of(struct job *j, const struct pdb_code *c, uint32_t id, uint32_t *out)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(TEXT_MOST);
	uint64_t key = id >> 31 ? (uint64_t)(c->module + 1) << 32 | id : id;
	struct known *k = known_at(j->inlinees, key);
	int r = 0;

	if (k->key != key || !key) {
		r = pdb_inlinee_name(&j->names, c, id, &name);
		if (r == 0)
			r = gsym_name(j->w, buf_text(&name), name.n, &k->number);
		k->key = r == 0 ? key : 0;
	}
	*out = k->number;
	return r;
}

/* ---- inlined calls: from pieces to a tree --------------------------------------------------- */

static int new_node(struct job *j, const struct pdb_code *c, const struct pdb_pieces_of *cut, int site, int parent,
	uint32_t call_file, uint32_t call_line, int *out)
{
	struct node *n;
	int r = grow(&j->nodes, &j->nodes_room, j->n_nodes, sizeof(*j->nodes));

	if (r < 0)
		return r;
	n = &j->nodes[j->n_nodes];
	*n = (struct node){.call_file = call_file, .call_line = call_line, .site = site, .parent = parent,
		.first = -1, .last = -1, .next = -1, .first_span = -1, .last_span = -1};
	r = inlinee_of(j, c, cut->sites.at[site].inlinee, &n->name);
	if (r < 0)
		return r;
	*out = (int)j->n_nodes++;
	if (j->nodes[parent].last >= 0)
		j->nodes[j->nodes[parent].last].next = *out;
	else
		j->nodes[parent].first = *out;
	j->nodes[parent].last = *out;
	j->last_of_site[site] = *out;
	return 0;
}

static int add_span(struct job *j, int node, uint32_t from, uint32_t to)
{
	struct node *n = &j->nodes[node];
	int r;

	if (n->last_span >= 0 && j->spans[n->last_span].to == from) {
		j->spans[n->last_span].to = to;
		return 0;
	}
	r = grow(&j->spans, &j->spans_room, j->n_spans, sizeof(*j->spans));
	if (r < 0)
		return r;
	j->spans[j->n_spans] = (struct node_span){from, to, -1};
	if (n->last_span >= 0)
		j->spans[n->last_span].next = (int)j->n_spans;
	else
		n->first_span = (int)j->n_spans;
	n->last_span = (int)j->n_spans++;
	return 0;
}

/* Adds the calls of one piece to the tree, outermost first. A call gets a new node if its caller or the
 * line of the call is another one than before. */
static int add_calls(struct job *j, const struct pdb_code *c, const struct pdb_pieces_of *cut,
	const struct pdb_piece *p)
{
	int chain[PDB_DEPTH_MOST], n = 0, at = 0, r = 0;
	uint32_t file = p->file, line = p->line;

	for (int cell = p->cell; cell >= 0 && n < PDB_DEPTH_MOST; cell = cut->cells[cell].parent)
		chain[n++] = cell;
	while (r == 0 && n-- > 0) {
		const struct pdb_cell *cell = &cut->cells[chain[n]];
		int node = j->last_of_site[cell->site];
		uint32_t call_file = 0;

		if (line)
			r = file_of(j, c, file, &call_file);
		if (r == 0 && !call_file)
			r = gsym_add_unnamed_file(j->w, &call_file);
		if (r == 0 && (node < 0 || j->nodes[node].parent != at || j->nodes[node].call_line != line ||
				      j->nodes[node].call_file != call_file))
			r = new_node(j, c, cut, cell->site, at, call_file, line, &node);
		if (r == 0)
			r = add_span(j, node, p->from, p->to);
		at = node;
		file = cell->file;
		line = cell->line;
	}
	return r;
}

static int make_tree(struct job *j, const struct pdb_code *c, const struct pdb_pieces_of *cut)
{
	int r = 0;

	j->n_nodes = j->n_spans = 0;
	if (!cut->n_cells)
		return 0;
	if (cut->sites.n > j->sites_room) {
		free(j->last_of_site);
		j->last_of_site = malloc(cut->sites.n * sizeof(*j->last_of_site));
		j->sites_room = j->last_of_site ? cut->sites.n : 0;
	}
	if (!j->last_of_site || grow(&j->nodes, &j->nodes_room, 0, sizeof(*j->nodes)) < 0)
		return -ENOMEM;
	memset(j->last_of_site, 0xff, cut->sites.n * sizeof(*j->last_of_site));
	j->nodes[j->n_nodes++] = (struct node){.site = -1, .parent = -1, .first = -1, .last = -1, .next = -1,
		.first_span = -1, .last_span = -1};
	for (size_t i = 0; r == 0 && i < cut->n; i++)
		r = add_calls(j, c, cut, &cut->at[i]);
	return r;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* A part of a function: its offsets in the section, and its address in the image. */
struct place {
	uint32_t from, to; /* in the section */
	uint64_t addr;	   /* of `from` */
};

static int write_rows(struct job *j, const struct pdb_code *c, const struct pdb_pieces_of *cut, const struct place *at)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < cut->n; i++) {
		const struct pdb_piece *p = &cut->at[i];
		uint32_t from = MAX(p->from, at->from);
		uint32_t file = p->cell >= 0 ? cut->cells[p->cell].file : p->file;
		uint32_t line = p->cell >= 0 ? cut->cells[p->cell].line : p->line, number = 0;

		if (p->to <= at->from || p->from >= at->to)
			continue;
		if (line)
			r = file_of(j, c, file, &number);
		if (r == 0)
			r = gsym_add_row(j->w, at->addr + (from - at->from), number, line);
	}
	return r;
}

static int write_node(struct job *j, int node, unsigned depth, const struct place *at)
{
	const struct node *n = &j->nodes[node];
	int r = gsym_add_inline(j->w, depth, n->name, n->call_file, n->call_line);

	for (int i = n->first_span; r == 0 && i >= 0; i = j->spans[i].next) {
		uint32_t from = MAX(j->spans[i].from, at->from), to = MIN(j->spans[i].to, at->to);

		if (from < to)
			r = gsym_add_range(j->w, at->addr + (from - at->from), to - from);
	}
	return r;
}

/* Writes the tree of calls; a caller precedes the calls inside it. */
static int write_tree(struct job *j, const struct place *at)
{
	int node = j->n_nodes ? j->nodes[0].first : -1, r = 0;
	unsigned depth = 1;

	while (r == 0 && node >= 0) {
		r = write_node(j, node, depth, at);
		if (j->nodes[node].first >= 0) {
			node = j->nodes[node].first;
			depth++;
			continue;
		}
		while (node >= 0 && j->nodes[node].next < 0) {
			node = j->nodes[node].parent;
			depth--;
		}
		node = node >= 0 ? j->nodes[node].next : -1;
	}
	return r;
}

static int write_place(struct job *j, const struct pdb_code *c, const struct pdb_pieces_of *cut, uint32_t name,
	enum gsym_rank rank, const struct place *at)
{
	int r = gsym_begin(j->w, at->addr, at->to - at->from, name, rank);

	if (r == 0)
		r = write_rows(j, c, cut, at);
	if (r == 0)
		r = write_tree(j, at);
	if (r == 0)
		r = gsym_end(j->w);
	return r == -ERANGE ? 0 : r;
}

static int write_func(struct job *j, const struct pdb_code *c, const struct pdb_func *f, enum gsym_rank rank)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(TEXT_MOST);
	struct pdb_pieces_of cut;
	struct pdb_pieces it;
	struct pdb_moved m;
	uint32_t source, name = 0;
	int r;

	if (!pdb_source_of(&j->pdb, f->section, f->off, &source))
		return 0;
	r = pdb_func_name(&j->names, c, f->name ? f->name : "", f->type, &text);
	if (r == 0)
		r = text.n ? gsym_name(j->w, buf_text(&text), text.n, &name) : gsym_no_name(j->w, &name);
	if (r < 0)
		return r;
	r = pdb_cut(c, f, &cut);
	if (r < 0)
		return r;
	r = make_tree(j, c, &cut);
	pdb_pieces(&it, &j->pdb, source, f->size);
	while (r == 0 && pdb_pieces_next(&it, &m)) {
		uint32_t from = f->off + (m.source - source);

		r = write_place(j, c, &cut, name, rank, &(struct place){from, from + m.size, m.target});
	}
	pdb_cut_release(&cut);
	return r;
}

/* Whether the function is to be written. When a linker folds identical functions, the symbols of the
 * dropped ones stay. They then lie in code of another module. Of several functions of a module at one
 * address, the first is written. */
static bool is_wanted(const struct job *j, const struct pdb_code *c, const struct pdb_func *f)
{
	const struct pdb_contrib *k = pdb_contrib_of(&j->pdb, f->section, f->off);

	if (f->kind == PDB_TRAMPOLINE || (j->pdb.n_contribs && (!k || k->module != c->module)))
		return false;
	return pdb_func_at(c, f->section, f->off) == f;
}

/* ---- public symbols --------------------------------------------------------------------------- */

static size_t first_public(const struct job *j, unsigned section, uint32_t off)
{
	size_t from = 0, to = j->publics.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct pdb_public *p = &j->publics.at[mid];

		if (p->section < section || (p->section == section && p->off < off))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Writes a public symbol: from its address, or from the end of a function that covers its address, up to
 * the next function. */
static int write_public(struct job *j, const struct pdb_code *c, const struct pdb_public *p, uint32_t end)
{
	const struct pdb_func *f = pdb_func_from(c, p->section, p->off, end);
	struct pdb_func own = {.section = p->section, .off = p->off, .name = p->name};

	if (f)
		end = f->off;
	f = pdb_func_at(c, p->section, p->off);
	if (f && f->kind != PDB_TRAMPOLINE)
		own.off = f->off + f->size;
	if (own.off >= end)
		return 0;
	own.size = end - own.off;
	return write_func(j, c, &own, GSYM_GLOBAL);
}

static int write_publics(struct job *j, const struct pdb_code *c, unsigned section, uint32_t off, uint32_t end)
{
	int r = 0;

	for (size_t i = first_public(j, section, off); r == 0 && i < j->publics.n; i++) {
		const struct pdb_public *p = &j->publics.at[i];
		bool more = i + 1 < j->publics.n && p[1].section == section;

		if (p->section != section || p->off >= end)
			break;
		r = write_public(j, c, p, more ? MIN(p[1].off, end) : end);
	}
	return r;
}

/* ---- code without a name ------------------------------------------------------------------------ */

/* Where the first public symbol in [off, end) begins; `end` when no public symbol does. */
static uint32_t public_from(const struct job *j, unsigned section, uint32_t off, uint32_t end)
{
	size_t i = first_public(j, section, off);

	return i < j->publics.n && j->publics.at[i].section == section ? MIN(j->publics.at[i].off, end) : end;
}

static int write_unnamed(struct job *j, const struct pdb_code *c, unsigned section, uint32_t from, uint32_t to)
{
	struct pdb_func own = {.section = (uint16_t)section, .off = from, .size = to - from};

	if (from >= to || !pdb_has_lines(c, section, from, to - from))
		return 0;
	return write_func(j, c, &own, GSYM_LOCAL);
}

/* Writes code that has lines but neither a function nor a public symbol. Linkers of partial PDBs leave only
 * lines. */
static int write_rest(struct job *j, const struct pdb_code *c, unsigned section, uint32_t off, uint32_t end)
{
	uint32_t at = off, since = off; /* a public symbol from `since` on covers `at` */
	int r = 0;

	while (r == 0 && at < end) {
		const struct pdb_func *f = pdb_func_at(c, section, at), *next;
		uint32_t stop;

		if (f && f->kind != PDB_TRAMPOLINE) {
			since = MAX(f->off + 1, since);
			at = f->off + f->size;
			continue;
		}
		next = pdb_func_from(c, section, at, end);
		stop = next ? next->off : end;
		if (public_from(j, section, since, at + 1) == at + 1)
			r = write_unnamed(j, c, section, at, public_from(j, section, at, stop));
		since = at = MAX(stop, at + 1);
	}
	return r;
}

/* ---- modules ---------------------------------------------------------------------------------- */

static int compare_modules(const void *a, const void *b)
{
	const struct pdb_contrib *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
}

static int write_module(struct job *j, unsigned module, size_t *contrib, struct err *e)
{
	struct pdb_code c;
	int r = pdb_code_open(&c, &j->pdb, &j->io, module, e);

	if (r == -ENOENT) { /* the module has only public symbols */
		pdb_code_release(&c);
		c = (struct pdb_code){.p = &j->pdb, .module = module};
		r = 0;
	}
	for (size_t i = 0; r == 0 && i < c.n_funcs; i++)
		if (is_wanted(j, &c, &c.funcs[i]))
			r = write_func(j, &c, &c.funcs[i], GSYM_DEBUG);
	for (; *contrib < j->pdb.n_contribs && j->by_module[*contrib].module == module; ++*contrib) {
		const struct pdb_contrib *k = &j->by_module[*contrib];

		if (r == 0)
			r = write_publics(j, &c, k->section, k->off, k->off + k->size);
		if (r == 0 && c.n_fragments)
			r = write_rest(j, &c, k->section, k->off, k->off + k->size);
	}
	pdb_code_release(&c);
	return r;
}

/* Writes the public symbols of a PDB without section contributions: each reaches up to the next one. */
static int write_other_publics(struct job *j)
{
	struct pdb_code none = {.p = &j->pdb};
	int r = 0;

	for (size_t i = 0; r == 0 && !j->pdb.n_contribs && i < j->publics.n; i++) {
		const struct pdb_public *p = &j->publics.at[i];
		bool more = i + 1 < j->publics.n && p[1].section == p->section;

		r = write_public(j, &none, p, more ? p[1].off : p->off + 1);
	}
	return r;
}

static int write_modules(struct job *j, void (*progress)(void *ctx, unsigned part), void *ctx, struct err *e)
{
	size_t contrib = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < j->pdb.n_modules; i++) {
		r = write_module(j, i, &contrib, e);
		if (progress)
			progress(ctx, (unsigned)((uint64_t)i * 1000 / j->pdb.n_modules));
	}
	return r < 0 ? r : write_other_publics(j);
}

static int prepare(struct job *j, struct err *e)
{
	int r = pdb_load_texts(&j->pdb, &j->io, e);

	if (r == 0)
		r = pdb_publics(&j->pdb, &j->io, &j->publics, e);
	j->files = calloc(CACHE_SLOTS, sizeof(*j->files));
	j->inlinees = calloc(CACHE_SLOTS, sizeof(*j->inlinees));
	j->by_module = malloc((j->pdb.n_contribs + 1) * sizeof(*j->by_module));
	if (r == 0 && (!j->files || !j->inlinees || !j->by_module))
		return -ENOMEM;
	if (r < 0 || !j->pdb.n_contribs)
		return r;
	memcpy(j->by_module, j->pdb.contribs, j->pdb.n_contribs * sizeof(*j->by_module));
	qsort(j->by_module, j->pdb.n_contribs, sizeof(*j->by_module), compare_modules);
	return 0;
}

static void job_free(struct job *j)
{
	pdb_namer_release(&j->names);
	pdb_publics_release(&j->publics);
	pdb_release(&j->pdb);
	msf_io_release(&j->io);
	free(j->files);
	free(j->inlinees);
	free(j->by_module);
	free(j->nodes);
	free(j->spans);
	free(j->last_of_site);
	free(j);
}

/* ---- the interface ---------------------------------------------------------------------------- */

bool pdb_file_is(struct span file)
{
	return msf_is(file.p, file.n);
}

static int convert(struct job *j, void (*progress)(void *ctx, unsigned part), void *ctx, struct err *e)
{
	uint8_t id[20];
	int r = pdb_open(&j->pdb, &j->io, e);

	if (r < 0)
		return r;
	if (!j->pdb.has_dbi || !j->pdb.n_sections)
		return err_set(e, -ENODATA, "has no symbols: %s",
			j->pdb.has_dbi ? "it does not say where its sections are" : "it is a PDB of types alone");
	memcpy(id, j->pdb.guid, 16);
	gsym_set_base(j->w, 0);
	gsym_set_id(j->w, id, 16);
	r = prepare(j, e);
	return r < 0 ? r : write_modules(j, progress, ctx, e);
}

int gsym_from_pdb(struct gsym_writer *w, struct span file, bool plain,
	void (*progress)(void *ctx, unsigned part), void *ctx, struct err *e)
{
	struct view v = view_of_mem(file.p, file.n);
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return err_set(e, -ENOMEM, "out of memory");
	j->w = w;
	msf_io_init(&j->io, &v);
	pdb_namer_init(&j->names, &j->pdb, &j->io, plain);
	r = convert(j, progress, ctx, e);
	job_free(j);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

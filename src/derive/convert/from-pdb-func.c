/* Converts one function of a PDB: its name, its lines, and its inlined calls as a tree. Names the jumps of
 * incremental links after the functions that they lead to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "derive/convert/from-pdb-private.h"
#include "formats/pdb/frames.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (64u << 10) /* the longest name */

/* Bounds for files whose records refer to the same bytes again and again. Good PDBs are far below them. A module has
 * pieces in proportion to its bytes, and a file names in proportion to its size. */
#define PIECES_LEAST (64u << 10)
#define PIECES_EACH 16u
#define TEXTS_LEAST (32u << 20)

int pdb_part_init(struct part *p, struct job *j, struct gsym_writer *w, const struct view *v)
{
	*p = (struct part){.job = j, .w = w, .text = BUF_UP_TO(TEXT_MOST),
		.texts_left = TEXTS_LEAST + PDB_TEXTS_EACH * v->size};
	msf_io_init(&p->io, v);
	pdb_namer_init(&p->names, &j->pdb, &p->io, j->o->plain_names);
	p->files = calloc(KNOWN_SLOTS, sizeof(*p->files));
	p->inlinees = calloc(KNOWN_SLOTS, sizeof(*p->inlinees));
	return p->files && p->inlinees ? 0 : -ENOMEM;
}

void pdb_part_release(struct part *p)
{
	pdb_namer_release(&p->names);
	msf_io_release(&p->io);
	buf_release(&p->text);
	free(p->files);
	free(p->inlinees);
	free(p->nodes);
	free(p->spans);
	free(p->last_of_site);
	free(p->targets);
	free(p->jumps);
}

void pdb_part_begin(struct part *p, const struct pdb_code *c)
{
	p->pieces_left = PIECES_LEAST + PIECES_EACH * (uint64_t)(c->symbols.n + c->lines.n);
	gsym_set_order(p->w, c->module);
}

/* ---- texts -------------------------------------------------------------------------------- */

/* Records -EAGAIN but continues, so that one call finds as many missing bytes as possible. */
static int note_missing(struct part *j, int r)
{
	j->again |= r == -EAGAIN;
	return r == -EAGAIN ? 0 : r;
}

/* Bounds the names of a thread: types that refer to each other can make very long names from few bytes. */
static int spend_text(struct part *j)
{
	if (j->text.n > j->texts_left)
		return -E2BIG;
	j->texts_left -= j->text.n;
	return 0;
}

static struct known *known_at(struct known *all, uint64_t key)
{
	return &all[key * 0x9e3779b97f4a7c15u >> 51];
}

/* The writer's number of a file, from the number of its name; 0: it has no name. */
static int file_of(struct part *j, uint32_t number, uint32_t *out)
{
	struct known *k = known_at(j->files, number);
	int r;

	*out = 0;
	if (!number)
		return 0;
	if (k->key != number) {
		buf_clear(&j->text);
		r = pdb_name(&j->job->pdb, &j->io, number, &j->text, NULL);
		if (r < 0)
			return r == -EBADMSG || r == -EFBIG ? 0 : note_missing(j, r);
		*k = (struct known){number, gsym_add_path(j->w, buf_text(&j->text), j->text.n)};
	}
	*out = k->number;
	return 0;
}

/* An id with bit 31 set is local to its module. */
static int inlinee_of(struct part *j, const struct pdb_code *c, uint32_t id, uint32_t *out)
{
	uint64_t key = id >> 31 ? (uint64_t)(c->module + 1) << 32 | id : id;
	struct known *k = known_at(j->inlinees, key);
	int r = 0;

	*out = 0;
	if (k->key != key || !key) {
		buf_clear(&j->text);
		r = pdb_inlinee_name(&j->names, c, id, &j->text);
		if (r == 0)
			r = spend_text(j);
		if (r < 0)
			return note_missing(j, r);
		*k = (struct known){key, gsym_name(j->w, buf_text(&j->text), j->text.n)};
	}
	*out = k->number;
	return 0;
}

/* ---- inlined calls: from pieces to a tree --------------------------------------------------- */

/* Marks the pieces without a wanted address. */
static void mark_unwanted(const struct part *j, uint64_t section, struct pdb_pieces_of *cut)
{
	for (size_t i = 0; j->wanted && i < cut->n; i++) {
		struct pdb_piece *p = &cut->at[i];
		size_t k = search_first(n, 0, j->n_wanted, j->wanted[n] < (section << 32 | p->from));

		p->unwanted = k == j->n_wanted || j->wanted[k] >= (section << 32 | p->to);
	}
}

static int new_node(struct part *j, int site, int parent, uint32_t file, uint32_t line, int *out)
{
	struct node n = {.file = file, .line = line, .site = site, .parent = parent, .first = -1, .last = -1,
		.next = -1, .first_span = -1, .last_span = -1};

	if (APPEND(j->nodes, j->nodes_room, j->n_nodes, n) < 0)
		return -ENOMEM;
	*out = (int)j->n_nodes - 1;
	*(j->nodes[parent].last >= 0 ? &j->nodes[j->nodes[parent].last].next : &j->nodes[parent].first) = *out;
	j->nodes[parent].last = *out;
	j->last_of_site[site] = *out;
	return 0;
}

static int add_span(struct part *j, int node, uint32_t from, uint32_t to)
{
	struct node *n = &j->nodes[node];

	if (n->last_span >= 0 && j->spans[n->last_span].to == from) {
		j->spans[n->last_span].to = to;
		return 0;
	}
	if (APPEND(j->spans, j->spans_room, j->n_spans, (struct node_span){from, to, -1}) < 0)
		return -ENOMEM;
	*(n->last_span >= 0 ? &j->spans[n->last_span].next : &n->first_span) = (int)j->n_spans - 1;
	n->last_span = (int)j->n_spans - 1;
	return 0;
}

/* Adds the calls of one piece to the tree, outermost first. A call gets a new node if its caller or its
 * call site differs from that of the call's newest node. */
static int add_calls(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut,
	const struct pdb_piece *p)
{
	int chain[PDB_DEPTH_MOST], n = 0, at = 0, r = 0;
	uint32_t file = p->file, line = p->line;

	for (int cell = p->cell; cell >= 0 && n < PDB_DEPTH_MOST; cell = cut->cells[cell].parent)
		chain[n++] = cell;
	while (r == 0 && n-- > 0) {
		const struct pdb_cell *cell = &cut->cells[chain[n]];
		int node = j->last_of_site[cell->site];
		uint32_t number = line ? pdb_file_name(c, file) : 0;

		if (node < 0 || j->nodes[node].parent != at || j->nodes[node].line != line ||
			j->nodes[node].file != number)
			r = new_node(j, cell->site, at, number, line, &node);
		if (r == 0)
			r = add_span(j, node, p->from, p->to);
		if (r == 0)
			j->nodes[node].wanted |= !p->unwanted;
		at = node;
		file = cell->file;
		line = cell->line;
	}
	return r;
}

static int make_tree(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut)
{
	const struct node root = {.site = -1, .parent = -1, .first = -1, .last = -1, .next = -1,
		.first_span = -1, .last_span = -1};
	int r = 0;

	j->n_nodes = j->n_spans = 0;
	if (!cut->n_cells)
		return 0;
	if (cut->sites.n > j->sites_room) {
		free(j->last_of_site);
		j->last_of_site = malloc(cut->sites.n * sizeof(*j->last_of_site));
		j->sites_room = j->last_of_site ? cut->sites.n : 0;
	}
	if (!j->last_of_site || APPEND(j->nodes, j->nodes_room, j->n_nodes, root) < 0)
		return -ENOMEM;
	memset(j->last_of_site, 0xff, cut->sites.n * sizeof(*j->last_of_site));
	for (size_t i = 0; r == 0 && i < cut->n; i++)
		r = add_calls(j, c, cut, &cut->at[i]);
	return r;
}

/* ---- jumps --------------------------------------------------------------------------- */

/* Keeps a function for pdb_parts_write_jumps(). 0; -ENOMEM. */
static int keep_target(struct part *p, uint32_t rva, uint32_t size, uint32_t name, uint32_t module)
{
	return APPEND(p->targets, p->targets_room, p->n_targets, (struct target){rva, size, name, module});
}

int pdb_part_keep_jump(struct part *p, const struct pdb_func *f)
{
	return APPEND(p->jumps, p->jumps_room, p->n_jumps, *f);
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	/* the first module is last, where name_at() finds it */
	return COMPARE(x->rva, y->rva) ?: COMPARE(y->module, x->module) ?: COMPARE(x->size, y->size);
}

/* All targets, sorted. NULL: out of memory. */
static struct target *all_targets(struct part *parts, unsigned n, size_t *n_all)
{
	struct target *all;
	size_t at = 0;

	for (unsigned i = *n_all = 0; i < n; i++)
		*n_all += parts[i].n_targets;
	all = malloc((*n_all + 1) * sizeof(*all));
	for (unsigned i = 0; all && i < n; i++) {
		if (parts[i].n_targets)
			memcpy(all + at, parts[i].targets, parts[i].n_targets * sizeof(*all));
		at += parts[i].n_targets;
	}
	sort_array(all, all ? *n_all : 0, sizeof(*all), compare_targets);
	return all;
}

/* The name of the last function that begins at or before the address; 0: that function does not contain the
 * address. */
static uint32_t name_at(const struct target *all, size_t n, uint32_t rva)
{
	size_t from = search_first(i, 0, n, all[i].rva <= rva);

	return from && rva - all[from - 1].rva < all[from - 1].size ? all[from - 1].name : 0;
}

static void write_jump(struct part *p, const struct pdb_func *f, const struct target *all, size_t n)
{
	const struct pdb *pdb = &p->job->pdb;
	uint32_t rva, target, name;

	if (!pdb_address(pdb, f->section, f->off, &rva) ||
		!pdb_address(pdb, f->target_section, f->target, &target))
		return;
	name = name_at(all, n, target);
	if (!name)
		return;
	gsym_begin(p->w, rva, f->size, name, GSYM_DEBUG);
	gsym_end(p->w);
}

int pdb_parts_write_jumps(struct part *parts, unsigned n)
{
	size_t n_all;
	struct target *all = all_targets(parts, n, &n_all);
	int r = all ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n; i++) {
		if (parts[i].n_jumps)
			gsym_set_order(parts[i].w, parts[i].job->pdb.n_modules);
		for (size_t k = 0; r == 0 && k < parts[i].n_jumps; k++)
			write_jump(&parts[i], &parts[i].jumps[k], all, n_all);
	}
	free(all);
	return r;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* A part of a function. */
struct place {
	uint32_t from, to; /* offsets in the section */
	uint64_t addr;	   /* the address of `from` in the image */
};

static int write_rows(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut,
	const struct place *at)
{
	size_t first = search_first(i, 0, cut->n, cut->at[i].to <= at->from);
	int r = 0;

	for (size_t i = first; r == 0 && i < cut->n && cut->at[i].from < at->to; i++) {
		const struct pdb_piece *p = &cut->at[i];
		uint32_t from = MAX(p->from, at->from);
		uint32_t file = p->cell >= 0 ? cut->cells[p->cell].file : p->file;
		uint32_t line = p->cell >= 0 ? cut->cells[p->cell].line : p->line, number = 0;

		if (p->unwanted)
			continue;
		if (line)
			r = file_of(j, pdb_file_name(c, file), &number);
		gsym_add_row(j->w, at->addr + (from - at->from), number, line);
	}
	return r;
}

static int write_node(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut, int node,
	unsigned depth, const struct place *at)
{
	const struct node *n = &j->nodes[node];
	uint32_t name, file = 0;
	int r = inlinee_of(j, c, cut->sites.at[n->site].inlinee, &name);

	if (r == 0)
		r = file_of(j, n->file, &file);
	if (r < 0)
		return r;
	gsym_add_inline(j->w, depth, name, file ? file : gsym_add_unnamed_file(j->w), n->line);
	for (int i = n->first_span; i >= 0; i = j->spans[i].next) {
		uint32_t from = MAX(j->spans[i].from, at->from), to = MIN(j->spans[i].to, at->to);

		if (from < to)
			gsym_add_range(j->w, at->addr + (from - at->from), to - from);
	}
	return 0;
}

/* Writes the tree of calls; a caller precedes the calls inside it. */
static int write_tree(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut,
	const struct place *at)
{
	int node = j->n_nodes ? j->nodes[0].first : -1, r = 0;
	unsigned depth = 1;

	while (r == 0 && node >= 0) {
		if (j->nodes[node].wanted)
			r = write_node(j, c, cut, node, depth, at);
		if (j->nodes[node].wanted && j->nodes[node].first >= 0) {
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

static int write_place(struct part *j, const struct pdb_code *c, const struct pdb_pieces_of *cut, uint32_t name,
	enum gsym_rank rank, const struct place *at)
{
	int r;

	gsym_begin(j->w, at->addr, at->to - at->from, name, rank);
	r = write_rows(j, c, cut, at);
	if (r == 0)
		r = write_tree(j, c, cut, at);
	if (r == 0 && !j->again)
		gsym_end(j->w);
	return r < 0 ? r : gsym_error(j->w);
}

/* A piece counts as this many inlined calls in it. In a good PDB each piece and each call has bytes of its own, but a
 * call can be in many pieces. */
#define PIECE_COST 8

static void spend_pieces(struct part *j, uint64_t n)
{
	j->pieces_left -= MIN(n, j->pieces_left);
}

int pdb_part_write(struct part *j, const struct pdb_code *c, const struct pdb_func *f, enum gsym_rank rank)
{
	struct pdb_pieces_of cut;
	struct pdb_moves it;
	struct pdb_moved m;
	uint32_t source, name = 0;
	bool named, first = true;
	int r;

	if (!pdb_source_of(&j->job->pdb, f->section, f->off, &source))
		return 0;
	buf_clear(&j->text);
	j->again = false;
	r = note_missing(j, pdb_func_name(&j->names, c, f->name ? f->name : "", f->type, &j->text));
	named = j->text.n;
	if (r == 0)
		r = spend_text(j);
	if (r < 0)
		return r;
	name = named ? gsym_name(j->w, buf_text(&j->text), j->text.n) : gsym_no_name(j->w);
	cut = (struct pdb_pieces_of){0};
	if (j->pieces_left)
		r = pdb_cut(c, f, &cut);
	if (r < 0)
		return r;
	spend_pieces(j, PIECE_COST * cut.n + cut.n_cells);
	mark_unwanted(j, f->section, &cut);
	r = make_tree(j, c, &cut);
	pdb_moves(&it, &j->job->pdb, source, f->size);
	while (r == 0 && (first || j->pieces_left) && pdb_moves_next(&it, &m)) {
		uint32_t from = f->off + (m.source - source);

		if (!first)
			spend_pieces(j, PIECE_COST + j->n_nodes + j->n_spans);
		first = false;
		r = write_place(j, c, &cut, name, rank, &(struct place){from, from + m.size, m.target});
		if (r == 0 && !j->again && named && j->job->pdb.incremental)
			r = keep_target(j, m.target, m.size, name, c->module);
	}
	pdb_cut_release(&cut);
	return r == 0 && j->again ? -EAGAIN : r;
}

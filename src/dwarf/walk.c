/* Collects the functions and inlined calls of a unit, with their names and rows. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "dwarf/walk.h"

/* ---- functions and calls --------------------------------------------------------------- */

static int add_func(struct walk *k, const struct dwarf_die *d, struct dwarf_range range,
	uint32_t name, uint32_t owner)
{
	struct batch *b = k->out;
	struct batch_func f = {.addr = range.start, .size = range.end - range.start, .name = name,
		.owner = owner, .nodes = (uint32_t)b->n_nodes, .end_nodes = (uint32_t)b->n_nodes};
	int r = walk_find_rows(k, d, &f);

	if (r < 0)
		return r;
	if (grow(&b->funcs, &b->funcs_room, b->n_funcs, sizeof(*b->funcs)) < 0)
		return -ENOMEM;
	b->funcs[b->n_funcs++] = f;
	return 0;
}

/* Adds a function for each range of the entry. *owner: the number of the first one, or BATCH_NONE if the entry has
 * no code. 0, -errno. */
static int take_func(struct walk *k, const struct dwarf_die *d, uint32_t *owner)
{
	struct dwarf_ranges *ranges = &k->w->ranges;
	uint32_t name = BATCH_NONE, first = (uint32_t)k->out->n_funcs;
	int r;

	*owner = BATCH_NONE;
	ranges->n = 0;
	r = dwarf_die_ranges(k->u, d, ranges);
	if (r == -EBADMSG) {
		k->out->broken = true;
		r = 0;
	}
	for (size_t i = 0; r == 0 && i < ranges->n; i++) {
		if (!walk_has_text(k, ranges->all[i].start))
			continue;
		r = name == BATCH_NONE ? batch_name_number(k->w, k->u->file, d->at, &name) : 0;
		if (r == 0 && k->out->n_funcs == first)
			r = walk_want_lines(k);
		if (r == 0)
			r = add_func(k, d, ranges->all[i], name, first);
	}
	if (r == 0 && k->out->n_funcs > first)
		*owner = first;
	return r;
}

/* Ends the function: all its inlined calls are recorded. */
static void end_func(struct walk *k, uint32_t owner)
{
	struct batch *b = k->out;

	for (size_t i = owner; i < b->n_funcs && b->funcs[i].owner == owner; i++)
		b->funcs[i].end_nodes = (uint32_t)b->n_nodes;
}

static int call_site_of(struct walk *k, const struct dwarf_die *d, struct batch_node *n)
{
	uint64_t file, line;

	if (!die_has(d, AT_CALL_FILE) || !dwarf_number(&d->v[AT_CALL_FILE], &file))
		return 0;
	if (die_has(d, AT_CALL_LINE) && dwarf_number(&d->v[AT_CALL_LINE], &line))
		n->line = line > UINT32_MAX ? 0 : (uint32_t)line;
	return k->w->lines.opened ? walk_file_number(k, file, &n->file) : 0;
}

/* Adds an inlined call. Sets *dropped: the call has no code, its call site has no file, or it
 * is nested too deep. 0, -errno. */
static int take_call(struct walk *k, const struct dwarf_die *d, const struct level *in, bool *dropped)
{
	struct batch *b = k->out;
	struct batch_node n = {.owner = in->owner, .name = BATCH_NONE, .file = BATCH_NONE,
		.ranges = (uint32_t)b->ranges.n, .depth = (uint16_t)(in->depth + 1)};
	enum dwarf_field f = die_has(d, AT_ORIGIN) ? AT_ORIGIN : AT_SPEC;
	const struct dwarf_file *file;
	uint64_t at;
	int r = dwarf_die_ranges(k->u, d, &b->ranges);

	*dropped = true;
	if (r == -EBADMSG) {
		b->broken = true;
		b->ranges.n = n.ranges;
		r = 0;
	}
	n.n_ranges = (uint32_t)(b->ranges.n - n.ranges);
	if (r == 0 && n.n_ranges)
		r = call_site_of(k, d, &n);
	if (r < 0 || n.file == BATCH_NONE || in->depth >= DWARF_DEPTH_MOST) {
		b->ranges.n = n.ranges;
		return r;
	}
	if (die_has(d, f) && dwarf_reference(k->u, &d->v[f], &file, &at))
		r = batch_name_number(k->w, file, at, &n.name);
	else
		r = batch_name_number(k->w, k->u->file, d->at, &n.name);
	if (r < 0 || grow(&b->nodes, &b->nodes_room, b->n_nodes, sizeof(*b->nodes)) < 0)
		return -ENOMEM;
	b->nodes[b->n_nodes++] = n;
	*dropped = false;
	return 0;
}

/* ---- a unit ---------------------------------------------------------------------------- */

static const struct walk_visit walk_takes = {
	.func = take_func, .end_func = end_func, .call = take_call,
};

int dwarf_walk(struct dwarf_walker *w, const struct dwarf_unit *u, struct batch *out)
{
	_cleanup_free_ struct walk *k = walk_new(u, &w->scopes);
	int r = 0;

	if (!k)
		return -ENOMEM;
	w->unit = u;
	w->out = k->out = out;
	w->n_taken = 0;
	k->w = w;
	k->visit = &walk_takes;
	w->lines.opened = w->lines.opened && w->lines.file == u->main && u->has_lines &&
			  w->lines.at == u->lines;
	for (size_t i = 0; i < w->lines.n_files; i++)
		w->lines.files[i].number = BATCH_NONE;
	if (w->slots_room)
		memset(w->slots, 0xff, w->slots_room * sizeof(*w->slots));
	if (u->children)
		r = walk_entries(k);
	if (r == 0)
		r = walk_take_orphans(k);
	if (r == -EBADMSG) {
		out->broken = true;
		r = 0;
	}
	return r < 0 ? r : dwarf_find_names(w);
}

void dwarf_walker_release(struct dwarf_walker *w)
{
	dwarf_reader_release(&w->reader);
	dwarf_lines_release(&w->lines);
	free(w->scopes.all);
	free(w->ranges.all);
	free(w->taken);
	free(w->slots);
	memset(w, 0, sizeof(*w));
}

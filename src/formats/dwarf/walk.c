/* Collects the functions and inlined calls of a unit, with their names and rows. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/dwarf/walk.h"

/* Assigns the rows of the line table to functions, and finds the rows outside of every function. */

/* Whether `addr` lies in a section of code. An address outside is that of a function that the linker left
 * out: linkers write 0, -1 or another number there. */
static bool walk_has_text(const struct walk *k, uint64_t addr)
{
	return !k->w->n_text || text_range_of(k->w->text, k->w->n_text, addr);
}

/* Reads the unit's line table, if it has one; a broken table marks the batch as broken. 0, -ENOMEM. */
static int walk_want_lines(struct walk *k)
{
	struct dwarf_lines *l = &k->w->lines;
	int r;

	if (!k->u->has_lines)
		return 0;
	r = dwarf_lines_open(l, k->u);
	if (r == 0 && !l->ran)
		r = dwarf_lines_run(l, k->u);
	if (r == -ENOMEM)
		return r;
	k->out->broken = k->out->broken || r < 0;
	return 0;
}

/* ---- rows of a function ----------------------------------------------------------------- */

static int add_row(struct walk *k, struct batch_func *f, uint64_t addr, const struct dwarf_row *row)
{
	struct batch *b = k->out;
	uint32_t file;

	if (walk_file_number(k, row->file, &file) < 0)
		return -ENOMEM;
	if (file == BATCH_NONE) /* a line number without a file is useless */
		return 0;
	if (APPEND(b->rows, b->rows_room, b->n_rows, (struct dwarf_row){addr, file, row->line}) < 0)
		return -ENOMEM;
	f->n_rows++;
	return 0;
}

/* Index of the last of n sorted rows at or before `addr`. 0 if all rows are after `addr`. */
static size_t row_at(const struct dwarf_row *rows, size_t n, uint64_t addr)
{
	size_t from = search_first(i, 0, n, rows[i].addr <= addr);

	return from ? from - 1 : 0;
}

/* Adds the rows of one sequence between two addresses. */
static int add_rows(struct walk *k, struct batch_func *f, const struct dwarf_sequence *s,
	uint64_t start, uint64_t end)
{
	const struct dwarf_row *rows = k->w->lines.rows + s->rows;
	int r = 0;

	for (size_t i = row_at(rows, s->n_rows, start);
		r == 0 && i < s->n_rows && rows[i].addr < end; i++)
		r = add_row(k, f, MAX(rows[i].addr, start), &rows[i]);
	return r;
}

/* Adds the rows of one sequence that are in the function, and records that range as taken. */
static int take_sequence(struct walk *k, struct batch_func *f, const struct dwarf_sequence *s,
	uint64_t start, uint64_t end)
{
	struct dwarf_walker *w = k->w;

	if (APPEND(w->taken, w->taken_room, w->n_taken,
		(struct dwarf_taken){(size_t)(s - w->lines.sequences), start, end}) < 0)
		return -ENOMEM;
	return add_rows(k, f, s, start, end);
}

/* How many lines the line at `start` of a sequence is after the function's declaration. A line before the
 * declaration counts as farther than every line after it, and a line in another file as the farthest. 0 for all
 * sequences if the declaration is unknown. */
static uint64_t distance(const struct walk *k, const struct dwarf_sequence *s, uint64_t start,
	bool declared, uint64_t file, uint64_t line)
{
	const struct dwarf_row *rows = k->w->lines.rows + s->rows;
	const struct dwarf_row *row = &rows[row_at(rows, s->n_rows, start)];

	if (!declared)
		return 0;
	if (row->file != file)
		return UINT64_MAX;
	return row->line >= line ? row->line - line : UINT32_MAX + (line - row->line);
}

/* If a linker folded several functions into one, each has a sequence, all at the same addresses. A
 * function's own sequence is the sequence that begins closest to its declaration. A sequence that begins outside of
 * code is that of a function that the linker left out: old linkers of WebAssembly write 0, close to real code. */
static struct dwarf_sequence *best_sequence(
	struct walk *k, const struct dwarf_die *d, uint64_t start, size_t behind)
{
	struct dwarf_sequence *all = k->w->lines.sequences, *best = NULL;
	uint64_t file = 0, line = 0, least = 0, far;
	bool declared = false, asked = false;

	for (size_t i = behind; i-- && all[i].reach > start;) {
		if (all[i].high <= start || !walk_has_text(k, all[i].low))
			continue;
		if (best && !asked) {
			declared = dwarf_declared(k->w, d, &file, &line);
			asked = true;
			least = distance(k, best, start, declared, file, line);
		}
		far = asked ? distance(k, &all[i], start, declared, file, line) : 0;
		if (!best || far <= least) { /* on a tie, the first in the table */
			best = &all[i];
			least = far;
		}
	}
	return best;
}

static int declared_row(struct walk *k, const struct dwarf_die *d, struct batch_func *f)
{
	uint64_t file, line;

	if (!dwarf_declared(k->w, d, &file, &line) || file > UINT32_MAX || line > UINT32_MAX)
		return 0;
	return add_row(k, f, f->addr,
		&(struct dwarf_row){f->addr, (uint32_t)file, (uint32_t)line});
}

/* Adds the rows of a function, and sets f->rows and f->n_rows. 0, -ENOMEM. */
static int walk_find_rows(struct walk *k, const struct dwarf_die *d, struct batch_func *f)
{
	struct dwarf_lines *l = &k->w->lines;
	uint64_t at = f->addr, end = f->addr + f->size;
	struct dwarf_sequence *s;
	size_t from;
	int r = 0;

	f->rows = (uint32_t)k->out->n_rows;
	if (!l->opened || !l->ran)
		return 0;
	from = search_first(i, 0, l->n_sequences, l->sequences[i].low <= f->addr);
	s = best_sequence(k, d, at, from);
	if (s) {
		r = take_sequence(k, f, s, at, end);
		at = s->high;
	}
	for (; r == 0 && from < l->n_sequences && l->sequences[from].low < end; from++) {
		s = &l->sequences[from];
		if (s->low < at)
			continue;
		r = take_sequence(k, f, s, at, end);
		at = s->high;
	}
	return r == 0 && !f->n_rows ? declared_row(k, d, f) : r;
}

/* ---- rows of no function ---------------------------------------------------------------- */

/* Adds lines of [low, high) that belong to no function. They can be lines of padding. Only symbols show
 * that, and symbols are read later. */
static int take_orphan(struct walk *k, const struct dwarf_sequence *s, uint64_t low, uint64_t high)
{
	struct batch *b = k->out;
	struct batch_func f = {.addr = low, .rows = (uint32_t)b->n_rows};
	int r;

	if (low >= high || !walk_has_text(k, low))
		return 0;
	r = add_rows(k, &f, s, low, high);
	if (r < 0 || !f.n_rows)
		return r;
	return APPEND(b->orphans, b->orphans_room, b->n_orphans, (struct batch_orphan){low, high, f.rows, f.n_rows});
}

static int compare_taken(const void *a, const void *b)
{
	const struct dwarf_taken *x = a, *y = b;

	return COMPARE(x->sequence, y->sequence) ?: COMPARE(x->start, y->start);
}

/* Takes the gaps between the n sorted ranges of a sequence that functions have taken. */
static int take_gaps(struct walk *k, const struct dwarf_sequence *s,
	const struct dwarf_taken *taken, size_t n)
{
	uint64_t at = s->low;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = take_orphan(k, s, at, MIN(taken[i].start, s->high));
		at = MAX(at, taken[i].end);
	}
	return r < 0 ? r : take_orphan(k, s, at, s->high);
}

/* Adds the rows that no function took. Assembler has lines and no functions. Compilers write no entry for a
 * function that equals another function, or only jumps to another function. 0, -ENOMEM. */
static int walk_take_orphans(struct walk *k)
{
	struct dwarf_walker *w = k->w;
	struct dwarf_lines *l = &w->lines;
	bool own = k->u->tag == DW_TAG_compile_unit || k->u->tag == DW_TAG_skeleton_unit;
	int r = own ? walk_want_lines(k) : 0;
	size_t from = 0;

	if (!l->opened || !l->ran || l->file != k->u->main || l->at != k->u->lines)
		return r;
	sort_array(w->taken, w->n_taken, sizeof(*w->taken), compare_taken);
	for (size_t i = 0; r == 0 && i < l->n_sequences; i++) {
		size_t to = from;

		while (to < w->n_taken && w->taken[to].sequence == i)
			to++;
		if (walk_has_text(k, l->sequences[i].low))
			r = take_gaps(k, &l->sequences[i], w->n_taken ? w->taken + from : NULL, to - from);
		from = to;
	}
	return r;
}

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
	return APPEND(b->funcs, b->funcs_room, b->n_funcs, f);
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
	if (r < 0 || APPEND(b->nodes, b->nodes_room, b->n_nodes, n) < 0)
		return -ENOMEM;
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

/* Goes once through the entries of a unit, and takes what has code. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "dwarf/batch.h"
#include "dwarf/forms.h"


/* Entries in entries; real ones are some dozens deep. */
#define DEEP_MOST 1024

/* What the children of an entry are in. */
struct level {
	uint32_t scope, owner;
	uint16_t depth; /* of inlined calls */
	bool dropped;	/* calls in a call that was left out */
};

struct walk {
	struct dwarf_walker *w;
	const struct dwarf_unit *u;
	struct dwarf_scopes *scopes;
	struct batch *out; /* NULL: only scopes are wanted */
	const uint8_t *start, *p, *end;
	bool is_c;
	unsigned n;
	struct level levels[DEEP_MOST];
};

/* ---- numbers of names ------------------------------------------------------------------ */

static size_t slot_of(const struct dwarf_walker *w, const struct dwarf_file *f, uint64_t at)
{
	size_t i = (size_t)((at * 0x9e3779b97f4a7c15) >> 24) & (w->slots_room - 1);
	const struct batch_name *n;

	for (; w->slots[i] != BATCH_NONE; i = (i + 1) & (w->slots_room - 1)) {
		n = &w->out->names[w->slots[i]];
		if (n->at == at && n->file == f)
			break;
	}
	return i;
}

static int more_slots(struct dwarf_walker *w)
{
	size_t room = w->slots_room ? w->slots_room : 512;

	while (w->out->n_names >= room / 2)
		room *= 2;
	if (room == w->slots_room)
		return 0;
	free(w->slots);
	w->slots = malloc(room * sizeof(*w->slots));
	w->slots_room = w->slots ? room : 0;
	if (!w->slots)
		return -ENOMEM;
	memset(w->slots, 0xff, room * sizeof(*w->slots));
	for (size_t i = 0; i < w->out->n_names; i++)
		w->slots[slot_of(w, w->out->names[i].file, w->out->names[i].at)] = (uint32_t)i;
	return 0;
}

/* The same place has the same number. */
static int name_number(
	struct dwarf_walker *w, const struct dwarf_file *f, uint64_t at, uint32_t *out)
{
	struct batch *b = w->out;
	size_t slot;

	if (more_slots(w) < 0)
		return -ENOMEM;
	slot = slot_of(w, f, at);
	if (w->slots[slot] == BATCH_NONE) {
		if (grow(&b->names, &b->names_room, b->n_names, sizeof(*b->names)) < 0)
			return -ENOMEM;
		b->names[b->n_names] = (struct batch_name){f, at, NULL};
		w->slots[slot] = (uint32_t)b->n_names++;
	}
	*out = w->slots[slot];
	return 0;
}

/* ---- files ----------------------------------------------------------------------------- */

static size_t put_part(char *p, size_t n, const char *part, size_t len)
{
	bool slash = n && p[n - 1] != '/' && p[n - 1] != '\\';

	if (!len)
		return n;
	if (slash)
		p[n++] = '/';
	/* What is put together has one separator. */
	while (n && len && part[0] == '/') {
		part++;
		len--;
	}
	memcpy(p + n, part, len);
	return n + len;
}

/* The batch's number of file `i` of the unit's table; BATCH_NONE when there is none. */
static int file_number(struct walk *k, uint64_t i, uint32_t *out)
{
	struct dwarf_lines *l = &k->w->lines;
	struct dwarf_line_file *f = dwarf_line_file(l, i);
	struct batch *b = k->out;
	const char *first, *second;
	size_t lens[3], n = 0;
	char *path;

	*out = f ? f->number : BATCH_NONE;
	if (!f || f->number != BATCH_NONE)
		return 0;
	dwarf_line_dirs(l, f, &first, &second);
	lens[0] = strlen(first);
	lens[1] = strlen(second);
	lens[2] = strlen(f->name);
	path = batch_text(b, lens[0] + lens[1] + lens[2] + 2);
	if (!path || grow(&b->files, &b->files_room, b->n_files, sizeof(*b->files)) < 0)
		return -ENOMEM;
	n = put_part(path, n, first, lens[0]);
	n = put_part(path, n, second, lens[1]);
	n = put_part(path, n, f->name, lens[2]);
	path[n] = '\0';
	b->files[b->n_files] = path;
	*out = f->number = (uint32_t)b->n_files++;
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------ */

static int add_row(struct walk *k, struct batch_func *f, uint64_t addr, const struct dwarf_row *row)
{
	struct batch *b = k->out;
	uint32_t file;

	if (file_number(k, row->file, &file) < 0)
		return -ENOMEM;
	if (file == BATCH_NONE) /* without a file a line says nothing */
		return 0;
	if (grow(&b->rows, &b->rows_room, b->n_rows, sizeof(*b->rows)) < 0)
		return -ENOMEM;
	b->rows[b->n_rows++] = (struct dwarf_row){addr, file, row->line};
	f->n_rows++;
	return 0;
}

/* The last of n sorted rows that is not behind `addr`; the first when all are. */
static size_t row_at(const struct dwarf_row *rows, size_t n, uint64_t addr)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (rows[mid].addr <= addr)
			from = mid + 1;
		else
			n = mid;
	}
	return from ? from - 1 : 0;
}

/* The rows of one sequence between two addresses. */
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

/* The rows of one sequence that are in the function. */
static int take_sequence(struct walk *k, struct batch_func *f, const struct dwarf_sequence *s,
	uint64_t start, uint64_t end)
{
	struct dwarf_walker *w = k->w;

	if (grow(&w->taken, &w->taken_room, w->n_taken, sizeof(*w->taken)) < 0)
		return -ENOMEM;
	w->taken[w->n_taken++] = (struct dwarf_taken){
		(size_t)(s - w->lines.sequences), start, end};
	return add_rows(k, f, s, start, end);
}

/* How far the line where a sequence begins is from where the function is declared. */
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

/* Functions that a linker folded into one have a sequence each, at the same addresses: the one
 * that begins where the function is declared is its own. */
static struct dwarf_sequence *best_sequence(
	struct walk *k, const struct dwarf_die *d, uint64_t start, size_t behind)
{
	struct dwarf_sequence *all = k->w->lines.sequences, *best = NULL;
	uint64_t file = 0, line = 0, least = 0, far;
	bool declared = false, asked = false;

	for (size_t i = behind; i-- && all[i].reach > start;) {
		if (all[i].high <= start)
			continue;
		if (best && !asked) {
			declared = dwarf_declared(k->w, d, &file, &line);
			asked = true;
			least = distance(k, best, start, declared, file, line);
		}
		far = asked ? distance(k, &all[i], start, declared, file, line) : 0;
		if (!best || far <= least) { /* of equals the first */
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

static int find_rows(struct walk *k, const struct dwarf_die *d, struct batch_func *f)
{
	struct dwarf_lines *l = &k->w->lines;
	uint64_t at = f->addr, end = f->addr + f->size;
	size_t from = 0, to = l->n_sequences;
	struct dwarf_sequence *s;
	int r = 0;

	f->rows = (uint32_t)k->out->n_rows;
	if (!l->opened || !l->ran)
		return 0;
	while (from < to) { /* the first that begins behind it */
		size_t mid = from + (to - from) / 2;

		if (l->sequences[mid].low <= at)
			from = mid + 1;
		else
			to = mid;
	}
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

/* ---- functions and calls --------------------------------------------------------------- */

/* Lines are read when the first function wants them. */
static int want_lines(struct walk *k)
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

/* Where there are no instructions there is no function: a linker left it out, and wrote 0 or -1
 * or something else for its address. */
static bool has_text(const struct walk *k, uint64_t addr)
{
	return !k->w->n_text || text_range_of(k->w->text, k->w->n_text, addr);
}

static int add_func(struct walk *k, const struct dwarf_die *d, struct dwarf_range range,
	uint32_t name, uint32_t owner)
{
	struct batch *b = k->out;
	struct batch_func f = {.addr = range.start, .size = range.end - range.start, .name = name,
		.owner = owner, .nodes = (uint32_t)b->n_nodes, .end_nodes = (uint32_t)b->n_nodes};
	int r = find_rows(k, d, &f);

	if (r < 0)
		return r;
	if (grow(&b->funcs, &b->funcs_room, b->n_funcs, sizeof(*b->funcs)) < 0)
		return -ENOMEM;
	b->funcs[b->n_funcs++] = f;
	return 0;
}

/* 0, with *owner when the entry has code. */
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
		if (!has_text(k, ranges->all[i].start))
			continue;
		r = name == BATCH_NONE ? name_number(k->w, k->u->file, d->at, &name) : 0;
		if (r == 0 && k->out->n_funcs == first)
			r = want_lines(k);
		if (r == 0)
			r = add_func(k, d, ranges->all[i], name, first);
	}
	if (r == 0 && k->out->n_funcs > first)
		*owner = first;
	return r;
}

/* Calls in what was entered since end where it does. */
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
	return k->w->lines.opened ? file_number(k, file, &n->file) : 0;
}

/* *dropped: there is no code of it, or nobody knows who calls. */
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
		r = name_number(k->w, file, at, &n.name);
	else
		r = name_number(k->w, k->u->file, d->at, &n.name);
	if (r < 0 || grow(&b->nodes, &b->nodes_room, b->n_nodes, sizeof(*b->nodes)) < 0)
		return -ENOMEM;
	b->nodes[b->n_nodes++] = n;
	*dropped = false;
	return 0;
}

/* ---- entries --------------------------------------------------------------------------- */

static int add_scope(struct walk *k, uint64_t at, unsigned tag, uint32_t *out)
{
	struct dwarf_scopes *s = k->scopes;

	if (grow(&s->all, &s->room, s->n, sizeof(*s->all)) < 0)
		return -ENOMEM;
	*out = (uint32_t)s->n;
	s->all[s->n++] = (struct dwarf_scope){at, UINT64_MAX, k->levels[k->n - 1].scope,
		(uint16_t)tag};
	return 0;
}

/* Over the children of an entry whose values are passed. */
static int skip_children(struct walk *k)
{
	unsigned deep = 1;

	while (deep) {
		const struct dwarf_abbrev *a;
		uint64_t code;

		if (!take_uleb(&k->p, k->end, &code))
			return -EBADMSG;
		if (!code) {
			deep--;
			continue;
		}
		a = dwarf_abbrev_of(k->u->abbrevs, code);
		if (!a || !dwarf_skip_values(k->u, a, &k->p, k->end))
			return -EBADMSG;
		deep += a->children;
	}
	return 0;
}

static int skip_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct dwarf_die d;
	const struct dwarf_file *f;
	uint64_t next;

	if (!a->children)
		return dwarf_skip_values(k->u, a, &k->p, k->end) ? 0 : -EBADMSG;
	if (a->sibling) {
		if (!dwarf_read_die(k->u, at, a, k->p, &d))
			return -EBADMSG;
		k->p = k->start + d.next;
		if (dwarf_reference(k->u, &d.v[AT_SIBLING], &f, &next) && next >= d.next &&
			next <= k->u->head->end) {
			k->p = k->start + next;
			return 0;
		}
		return skip_children(k);
	}
	return dwarf_skip_values(k->u, a, &k->p, k->end) ? skip_children(k) : -EBADMSG;
}

static int enter(struct walk *k, const struct level *l)
{
	if (k->n == DEEP_MOST)
		return -EBADMSG;
	k->levels[k->n++] = *l;
	return 0;
}

static int take_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct level in = k->levels[k->n - 1], next = in;
	struct dwarf_die d;
	int r = 0;

	if (!dwarf_read_die(k->u, at, a, k->p, &d))
		return -EBADMSG;
	k->p = k->start + d.next;
	if (a->act == ACT_FUNC) {
		next = (struct level){.owner = BATCH_NONE};
		if (k->out)
			r = take_func(k, &d, &next.owner);
	} else if (k->out && in.owner != BATCH_NONE && !in.dropped) {
		r = take_call(k, &d, &in, &next.dropped);
		next.depth++;
	}
	if (r < 0 || !a->children)
		return r;
	next.scope = in.scope;
	if (a->act == ACT_FUNC)
		r = add_scope(k, at, a->tag, &next.scope);
	return r < 0 ? r : enter(k, &next);
}

static int one_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct level next = k->levels[k->n - 1];
	int r = 0;

	switch (a->act) {
	case ACT_FUNC:
	case ACT_INLINE:
		return take_entry(k, at, a);
	case ACT_SKIP:
		return skip_entry(k, at, a);
	case ACT_TYPE:
		if (k->is_c)
			return skip_entry(k, at, a);
		next.owner = BATCH_NONE;
		break;
	}
	if (!dwarf_skip_values(k->u, a, &k->p, k->end))
		return -EBADMSG;
	if (!a->children)
		return 0;
	if (a->act != ACT_NONE)
		r = add_scope(k, at, a->tag, &next.scope);
	return r < 0 ? r : enter(k, &next);
}

/* The children of an entry are over. */
static void leave(struct walk *k)
{
	struct level l = k->levels[--k->n];
	const struct level *outer = k->n ? &k->levels[k->n - 1] : NULL;

	if (outer && l.scope != outer->scope)
		k->scopes->all[l.scope].end = (uint64_t)(k->p - k->start);
	if (k->out && l.owner != BATCH_NONE && (!outer || outer->owner != l.owner))
		end_func(k, l.owner);
}

static int all_entries(struct walk *k)
{
	int r = enter(k, &(struct level){.scope = BATCH_NONE, .owner = BATCH_NONE});

	while (r == 0 && k->n && k->p < k->end) {
		uint64_t code, at = (uint64_t)(k->p - k->start);
		const struct dwarf_abbrev *a;

		if (!take_uleb(&k->p, k->end, &code)) {
			r = -EBADMSG;
		} else if (!code) {
			leave(k);
		} else {
			a = dwarf_abbrev_of(k->u->abbrevs, code);
			r = a ? one_entry(k, at, a) : -EBADMSG;
		}
	}
	while (k->n) /* the end of the unit ends everything */
		leave(k);
	return r;
}

static struct walk *walk_new(const struct dwarf_unit *u, struct dwarf_scopes *scopes)
{
	struct walk *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	k->w = NULL;
	k->u = u;
	k->scopes = scopes;
	k->out = NULL;
	k->start = u->file->s[DWARF_INFO].p;
	k->p = k->start + u->children;
	k->end = k->start + u->head->end;
	k->is_c = u->language == 0x01 || u->language == 0x02 || u->language == 0x0c ||
		  u->language == 0x1d || u->language == 0x2c || u->language == 0x8001;
	k->n = 0;
	scopes->n = 0;
	return k;
}

int dwarf_scan(const struct dwarf_unit *u, struct dwarf_scopes *out)
{
	_cleanup_free_ struct walk *k = walk_new(u, out);
	int r;

	if (!k)
		return -ENOMEM;
	r = u->children ? all_entries(k) : 0;
	return r == -EBADMSG ? 0 : r;
}

/* ---- lines of nobody ------------------------------------------------------------------- */

/* It may be padding: nobody knows before symbols are read. */
static int take_orphan(struct walk *k, const struct dwarf_sequence *s, uint64_t low, uint64_t high)
{
	struct batch *b = k->out;
	struct batch_func f = {.addr = low, .rows = (uint32_t)b->n_rows};
	int r;

	if (low >= high || !has_text(k, low))
		return 0;
	r = add_rows(k, &f, s, low, high);
	if (r < 0 || !f.n_rows)
		return r;
	if (grow(&b->orphans, &b->orphans_room, b->n_orphans, sizeof(*b->orphans)) < 0)
		return -ENOMEM;
	b->orphans[b->n_orphans++] = (struct batch_orphan){low, high, f.rows, f.n_rows};
	return 0;
}

static int compare_taken(const void *a, const void *b)
{
	const struct dwarf_taken *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* What lies between those that were taken of a sequence, which are `n` and sorted. */
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

/* Assembler has lines and no functions; and compilers leave functions out that are the same as
 * another, or that only go on to another. */
static int take_orphans(struct walk *k)
{
	struct dwarf_walker *w = k->w;
	struct dwarf_lines *l = &w->lines;
	bool own = k->u->tag == DW_TAG_compile_unit || k->u->tag == DW_TAG_skeleton_unit;
	int r = own ? want_lines(k) : 0;
	size_t from = 0;

	if (!l->opened || !l->ran || l->file != k->u->main || l->at != k->u->lines)
		return r;
	if (w->n_taken)
		qsort(w->taken, w->n_taken, sizeof(*w->taken), compare_taken);
	for (size_t i = 0; r == 0 && i < l->n_sequences; i++) {
		size_t to = from;

		while (to < w->n_taken && w->taken[to].sequence == i)
			to++;
		r = take_gaps(k, &l->sequences[i], w->n_taken ? w->taken + from : NULL, to - from);
		from = to;
	}
	return r;
}

/* ---- a unit ---------------------------------------------------------------------------- */

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
	w->lines.opened = w->lines.opened && w->lines.file == u->main && u->has_lines &&
			  w->lines.at == u->lines;
	for (size_t i = 0; i < w->lines.n_files; i++)
		w->lines.files[i].number = BATCH_NONE;
	if (w->slots_room)
		memset(w->slots, 0xff, w->slots_room * sizeof(*w->slots));
	if (u->children)
		r = all_entries(k);
	if (r == 0)
		r = take_orphans(k);
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

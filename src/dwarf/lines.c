/* Line programs, of version 2 to 5. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "dwarf/forms.h"


enum {
	DW_LNS_copy = 1, DW_LNS_advance_pc, DW_LNS_advance_line, DW_LNS_set_file,
	DW_LNS_set_column, DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_const_add_pc,
	DW_LNS_fixed_advance_pc, DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin, DW_LNS_set_isa,
	DW_LNE_end_sequence = 1, DW_LNE_set_address, DW_LNE_define_file,
	DW_LNCT_path = 1, DW_LNCT_directory_index = 2
};

#define FORMATS_MOST 16

/* ---- the header ------------------------------------------------------------------------ */

struct head {
	struct dwarf_lines *l;
	const struct dwarf_unit *u;
	const uint8_t *p, *end;
	struct dwarf_sizes sizes;
};

static int add_dir(struct dwarf_lines *l, const char *name)
{
	if (grow(&l->dirs, &l->dirs_room, l->n_dirs, sizeof(*l->dirs)) < 0)
		return -ENOMEM;
	l->dirs[l->n_dirs++] = name;
	return 0;
}

static int add_file(struct dwarf_lines *l, const char *name, uint64_t dir)
{
	if (grow(&l->files, &l->files_room, l->n_files, sizeof(*l->files)) < 0)
		return -ENOMEM;
	l->files[l->n_files++] = (struct dwarf_line_file){name, dir, UINT32_MAX};
	return 0;
}

/* NULL: it does not end. */
static const char *take_text(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nul = memchr(*p, 0, (size_t)(end - *p));
	const char *s = (const char *)*p;

	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* What follows a file's name until version 4, and in DW_LNE_define_file. */
static bool take_old_file(const uint8_t **p, const uint8_t *end, uint64_t *dir)
{
	uint64_t skipped;

	return take_uleb(p, end, dir) && take_uleb(p, end, &skipped) &&
	       take_uleb(p, end, &skipped);
}

/* Directories and files count from 1: number 0 is the unit's, and no file. */
static int old_tables(struct head *h)
{
	const char *name;
	uint64_t dir;
	int r = add_dir(h->l, "");

	while (r == 0) {
		name = take_text(&h->p, h->end);
		if (!name)
			return -EBADMSG;
		if (!name[0])
			break;
		r = add_dir(h->l, name);
	}
	if (r == 0)
		r = add_file(h->l, NULL, 0);
	while (r == 0) {
		name = take_text(&h->p, h->end);
		if (!name)
			return -EBADMSG;
		if (!name[0])
			break;
		if (!take_old_file(&h->p, h->end, &dir))
			return -EBADMSG;
		r = add_file(h->l, name, dir);
	}
	return r;
}

struct format {
	uint64_t type;
	unsigned form;
};

static int take_formats(struct head *h, struct format *all)
{
	unsigned n;

	if (h->p == h->end)
		return -EBADMSG;
	n = *h->p++;
	if (n > FORMATS_MOST)
		return -EBADMSG;
	for (unsigned i = 0; i < n; i++) {
		uint64_t form;

		if (!take_uleb(&h->p, h->end, &all[i].type) || !take_uleb(&h->p, h->end, &form) ||
			form > UINT16_MAX)
			return -EBADMSG;
		all[i].form = (unsigned)form;
	}
	return (int)n;
}

static int take_entry(struct head *h, const struct format *all, int n, bool file)
{
	const char *name = NULL;
	uint64_t dir = 0;

	for (int i = 0; i < n; i++) {
		struct dwarf_value v;

		if (!read_form(all[i].form, 0, h->sizes, h->u->main->swap, &h->p, h->end, &v))
			return -EBADMSG;
		if (all[i].type == DW_LNCT_path)
			name = dwarf_text(h->u->skeleton ? h->u->skeleton : h->u, &v);
		else if (all[i].type == DW_LNCT_directory_index)
			dwarf_number(&v, &dir);
	}
	return file ? add_file(h->l, name, dir) : add_dir(h->l, name ? name : "");
}

static int new_table(struct head *h, bool file)
{
	struct format formats[FORMATS_MOST];
	int r = 0, n = take_formats(h, formats);
	uint64_t count;

	if (n < 0 || !take_uleb(&h->p, h->end, &count))
		return -EBADMSG;
	/* Entries of no bytes would never end. */
	if (!n || count > (uint64_t)(h->end - h->p))
		return count ? -EBADMSG : 0;
	while (r == 0 && count--)
		r = take_entry(h, formats, n, file);
	return r;
}

static int read_fixed(struct head *h)
{
	struct dwarf_lines *l = h->l;
	unsigned n;

	if ((size_t)(h->end - h->p) < (l->version >= 4 ? 6u : 5u))
		return -EBADMSG;
	l->min_length = *h->p++;
	l->max_ops = l->version >= 4 ? *h->p++ : 1;
	h->p++; /* whether rows are statements at first */
	l->line_base = (int8_t)*h->p++;
	l->line_range = *h->p++;
	l->opcode_base = *h->p++;
	n = l->opcode_base ? l->opcode_base - 1 : 0;
	if ((size_t)(h->end - h->p) < n)
		return -EBADMSG;
	memset(l->lengths, 0, sizeof(l->lengths));
	memcpy(l->lengths + 1, h->p, n);
	h->p += n;
	return 0;
}

/* Where the table is, and the parts of the header that say how to read the rest. */
static int read_start(struct head *h, uint64_t at)
{
	struct span s = h->u->main->s[DWARF_LINE];
	bool swap = h->u->main->swap;
	const uint8_t *p = span_at(s, at, 4);
	uint64_t length = p ? load32(p, swap) : 0, head;

	h->sizes = sizes_of(h->u->head);
	h->sizes.off = 4;
	at += 4;
	if (length == UINT32_MAX) {
		p = span_at(s, at, 8);
		length = p ? load64(p, swap) : 0;
		h->sizes.off = 8;
		at += 8;
	}
	/* A table that is cut short is good for what it has. */
	length = at <= s.n ? MIN(length, s.n - at) : 0;
	s.n = at <= s.n ? at + length : 0;
	p = span_at(s, at, 4u + h->sizes.off);
	if (!p)
		return -EBADMSG;
	h->l->version = h->sizes.version = (uint8_t)load16(p, swap);
	if (load16(p, swap) < 2 || load16(p, swap) > 5)
		return -ENOTSUP;
	h->l->addr_size = h->l->version >= 5 ? p[2] : h->u->head->addr_size;
	h->sizes.addr = h->l->addr_size;
	at += h->l->version >= 5 ? 4 : 2;
	p = span_at(s, at, h->sizes.off);
	if (!p)
		return -EBADMSG;
	head = load_sized(p, h->sizes.off, swap);
	at += h->sizes.off;
	if (head > s.n - at)
		return -EBADMSG;
	h->p = s.p + at;
	h->end = h->p + head;
	h->l->program = at + head;
	h->l->end = s.n;
	return 0;
}

static int read_header(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	struct head h = {.l = l, .u = u};
	int r = read_start(&h, u->lines);

	if (r == 0)
		r = read_fixed(&h);
	if (r < 0)
		return r;
	if (l->version < 5)
		return old_tables(&h);
	r = new_table(&h, false);
	return r < 0 ? r : new_table(&h, true);
}

int dwarf_lines_open(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	int r;

	if (!u->has_lines)
		return -EBADMSG;
	if (l->opened && l->file == u->main && l->at == u->lines) {
		l->comp_dir = u->comp_dir;
		return 0;
	}
	l->file = u->main;
	l->at = u->lines;
	l->opened = l->ran = false;
	l->n_dirs = l->n_files = l->n_rows = l->n_sequences = 0;
	l->comp_dir = u->comp_dir;
	r = read_header(l, u);
	l->opened = r == 0;
	return r;
}

void dwarf_lines_release(struct dwarf_lines *l)
{
	free(l->dirs);
	free(l->files);
	free(l->rows);
	free(l->sequences);
	memset(l, 0, sizeof(*l));
}

struct dwarf_line_file *dwarf_line_file(struct dwarf_lines *l, uint64_t i)
{
	return i < l->n_files && l->files[i].name ? &l->files[i] : NULL;
}

static bool is_absolute(const char *s)
{
	bool letter = (s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z');

	return s[0] == '/' || s[0] == '\\' ||
	       (letter && s[1] == ':' && (s[2] == '/' || s[2] == '\\'));
}

void dwarf_line_dirs(const struct dwarf_lines *l, const struct dwarf_line_file *f,
	const char **first, const char **second)
{
	*first = *second = "";
	if (is_absolute(f->name))
		return;
	if (f->dir < l->n_dirs)
		*second = l->dirs[f->dir];
	/* From version 5 on directory 0 is the unit's own. */
	if (!is_absolute(*second) && (l->version < 5 || f->dir))
		*first = l->comp_dir;
}

/* ---- the program ----------------------------------------------------------------------- */

struct state {
	struct dwarf_lines *l;
	const uint8_t *p, *end;
	bool swap;
	uint64_t addr, file;
	uint32_t line;
	unsigned op_index;
	size_t first; /* row of this sequence */
};

static void reset(struct state *s)
{
	s->addr = 0;
	s->line = 1;
	s->file = 1;
	s->op_index = 0;
	s->first = s->l->n_rows;
}

/* Of several rows at one address the last counts; one that says what the one before said does not
 * say anything. A row that goes back in a sequence is not believed. */
static inline int push(struct state *s)
{
	struct dwarf_lines *l = s->l;
	struct dwarf_row *last = l->n_rows > s->first ? &l->rows[l->n_rows - 1] : NULL;
	uint32_t file = s->file >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)s->file;

	if (last && s->addr <= last->addr) {
		if (s->addr < last->addr)
			return 0;
		l->n_rows--;
		last = l->n_rows > s->first ? last - 1 : NULL;
	}
	if (last && last->line == s->line && last->file == file)
		return 0;
	if (l->n_rows == l->rows_room &&
		grow(&l->rows, &l->rows_room, l->n_rows, sizeof(*l->rows)) < 0)
		return -ENOMEM;
	l->rows[l->n_rows++] = (struct dwarf_row){s->addr, file, s->line};
	return 0;
}

static int end_sequence(struct state *s)
{
	struct dwarf_lines *l = s->l;
	uint64_t low = l->n_rows > s->first ? l->rows[s->first].addr : 0;

	if (l->n_rows > s->first && s->addr > low && l->n_rows <= UINT32_MAX) {
		if (grow(&l->sequences, &l->sequences_room, l->n_sequences,
			    sizeof(*l->sequences)) < 0)
			return -ENOMEM;
		l->sequences[l->n_sequences] = (struct dwarf_sequence){low, s->addr, 0,
			(uint32_t)s->first, (uint32_t)(l->n_rows - s->first),
			(uint32_t)l->n_sequences};
		l->n_sequences++;
	} else {
		l->n_rows = s->first;
	}
	reset(s);
	return 0;
}

static inline void advance(struct state *s, uint64_t by)
{
	struct dwarf_lines *l = s->l;

	if (l->max_ops <= 1) {
		s->addr += by * l->min_length;
		return;
	}
	s->addr += (s->op_index + by) / l->max_ops * l->min_length;
	s->op_index = (unsigned)((s->op_index + by) % l->max_ops);
}

static int run_extended(struct state *s)
{
	const uint8_t *next;
	const char *name;
	uint64_t n, dir;
	unsigned op;

	if (!take_uleb(&s->p, s->end, &n) || n > (uint64_t)(s->end - s->p))
		return -EBADMSG;
	next = s->p + n;
	if (!n)
		return 0;
	op = *s->p++;
	n--;
	if (op == DW_LNE_end_sequence) {
		s->p = next;
		return end_sequence(s);
	}
	if (op == DW_LNE_set_address && (n == 2 || n == 4 || n == 8)) {
		s->addr = load_sized(s->p, (unsigned)n, s->swap);
		s->op_index = 0;
	} else if (op == DW_LNE_define_file) {
		name = take_text(&s->p, next);
		if (name && take_old_file(&s->p, next, &dir) && add_file(s->l, name, dir) < 0)
			return -ENOMEM;
	}
	s->p = next;
	return 0;
}

static int run_standard(struct state *s, unsigned op)
{
	uint64_t v = 0;
	int64_t d;

	switch (op) {
	case DW_LNS_copy:
		return push(s);
	case DW_LNS_advance_pc:
		if (!take_uleb(&s->p, s->end, &v))
			return -EBADMSG;
		advance(s, v);
		return 0;
	case DW_LNS_advance_line:
		if (!take_sleb(&s->p, s->end, &d))
			return -EBADMSG;
		s->line = (uint32_t)(s->line + (uint64_t)d);
		return 0;
	case DW_LNS_set_file:
		return take_uleb(&s->p, s->end, &s->file) ? 0 : -EBADMSG;
	case DW_LNS_set_column:
	case DW_LNS_set_isa:
		return take_uleb(&s->p, s->end, &v) ? 0 : -EBADMSG;
	case DW_LNS_const_add_pc:
		advance(s, s->l->line_range
				   ? (255u - s->l->opcode_base) / s->l->line_range
				   : 0);
		return 0;
	case DW_LNS_fixed_advance_pc:
		if (s->end - s->p < 2)
			return -EBADMSG;
		s->addr += load16(s->p, s->swap);
		s->op_index = 0;
		s->p += 2;
		return 0;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		return 0;
	}
	for (unsigned i = 0; i < s->l->lengths[op]; i++)
		if (!take_uleb(&s->p, s->end, &v))
			return -EBADMSG;
	return 0;
}

static int run_special(struct state *s, unsigned op)
{
	struct dwarf_lines *l = s->l;
	unsigned adjust = op - l->opcode_base;

	if (!l->line_range)
		return -EBADMSG;
	advance(s, adjust / l->line_range);
	s->line = (uint32_t)(s->line + (uint64_t)(int64_t)(l->line_base +
							   (int)(adjust % l->line_range)));
	return push(s);
}

static int run(struct state *s)
{
	int r = 0;

	reset(s);
	while (r == 0 && s->p < s->end) {
		unsigned op = *s->p++;

		if (op >= s->l->opcode_base)
			r = run_special(s, op);
		else if (op)
			r = run_standard(s, op);
		else
			r = run_extended(s);
	}
	s->l->n_rows = s->first; /* what was not ended has no end */
	return r;
}

static int compare_sequences(const void *a, const void *b)
{
	const struct dwarf_sequence *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

int dwarf_lines_run(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	struct state s = {.l = l, .swap = u->main->swap};
	struct span all = u->main->s[DWARF_LINE];
	uint64_t reach = 0;
	bool sorted = true;
	int r;

	if (l->ran)
		return 0;
	s.p = all.p + l->program;
	s.end = all.p + l->end;
	r = run(&s);
	if (r == -ENOMEM)
		return r;
	for (size_t i = 1; i < l->n_sequences; i++)
		sorted = sorted && l->sequences[i - 1].low <= l->sequences[i].low;
	if (!sorted)
		qsort(l->sequences, l->n_sequences, sizeof(*l->sequences), compare_sequences);
	for (size_t i = 0; i < l->n_sequences; i++)
		l->sequences[i].reach = reach = MAX(reach, l->sequences[i].high);
	l->ran = true;
	return 0;
}

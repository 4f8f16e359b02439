/* Runs the program of a line table, version 2 to 5. The program makes sequences of rows. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "formats/dwarf/line-table.h"

enum {
	DW_LNS_copy = 1, DW_LNS_advance_pc, DW_LNS_advance_line, DW_LNS_set_file,
	DW_LNS_set_column, DW_LNS_negate_stmt, DW_LNS_set_basic_block, DW_LNS_const_add_pc,
	DW_LNS_fixed_advance_pc, DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin, DW_LNS_set_isa,
	DW_LNE_end_sequence = 1, DW_LNE_set_address, DW_LNE_define_file
};

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

/* Adds a row. The last row at an address replaces the others. A row is dropped if it repeats the previous
 * row, or if its address is lower. */
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
	return APPEND(l->rows, l->rows_room, l->n_rows, (struct dwarf_row){s->addr, file, s->line});
}

static int end_sequence(struct state *s)
{
	struct dwarf_lines *l = s->l;
	uint64_t low = l->n_rows > s->first ? l->rows[s->first].addr : 0;

	if (l->n_rows > s->first && s->addr > low && l->n_rows <= UINT32_MAX) {
		struct dwarf_sequence x = {low, s->addr, 0, (uint32_t)s->first, (uint32_t)(l->n_rows - s->first),
			(uint32_t)l->n_sequences};

		if (APPEND(l->sequences, l->sequences_room, l->n_sequences, x) < 0)
			return -ENOMEM;
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
		name = take_line_text(&s->p, next);
		if (name && take_line_file(&s->p, next, &dir) && line_table_add(s->l, name, dir) < 0)
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
	s->l->n_rows = s->first; /* a sequence without an end is dropped */
	return r;
}

static int compare_sequences(const void *a, const void *b)
{
	const struct dwarf_sequence *x = a, *y = b;

	return COMPARE(x->low, y->low) ?: COMPARE(x->order, y->order);
}

int dwarf_lines_run(struct dwarf_lines *l, const struct dwarf_unit *u)
{
	struct state s = {.l = l, .swap = u->main->swap};
	struct span all = u->main->s[DWARF_LINE];
	uint64_t reach = 0;
	int r;

	if (l->ran)
		return 0;
	s.p = all.p + l->program;
	s.end = all.p + l->end;
	r = run(&s);
	if (r == -ENOMEM)
		return r;
	sort_array(l->sequences, l->n_sequences, sizeof(*l->sequences), compare_sequences);
	for (size_t i = 0; i < l->n_sequences; i++)
		l->sequences[i].reach = reach = MAX(reach, l->sequences[i].high);
	l->ran = true;
	return 0;
}

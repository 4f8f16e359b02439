/* Reads split DWARF: units in a .dwo file of their own, or together in a .dwp package. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/dwarf/split.h"
#include "base/util.h"
#include "base/bytes.h"

enum { DW_UT_split_compile = 5 };

/* Maps a column number of an index to a section, plus 1; 0: the column is not read. Versions 2 and 5 share
 * the numbers. Only column 8 has another meaning in version 2, and units of that version do not use its section. */
static const uint8_t columns[] = {
	[1] = DWARF_INFO + 1, [3] = DWARF_ABBREV + 1, [4] = DWARF_LINE + 1,
	[6] = DWARF_STR_OFFSETS + 1, [8] = DWARF_RNGLISTS + 1,
};

/* ---- the unit in a file ---------------------------------------------------------------- */

/* Until version 4 the id is in the first entry. */
static bool has_id(struct dwarf_reader *r, const struct dwarf_file *f, const struct dwarf_head *h,
	uint64_t id)
{
	struct dwarf_unit u;
	bool same;

	if (h->version >= 5)
		return h->kind == DW_UT_split_compile && h->id == id;
	if (dwarf_unit_open(&u, r, f, h, NULL) < 0)
		return false;
	same = u.dwo_id == id;
	dwarf_unit_close(&u);
	return same;
}

static const struct dwarf_head *find_unit(
	struct dwarf_reader *r, const struct dwarf_file *f, uint64_t id)
{
	for (size_t i = 0; i < f->n_units; i++)
		if (has_id(r, f, &f->units[i], id))
			return &f->units[i];
	return NULL;
}

int dwarf_split_open(struct dwarf_split *s, struct dwarf_reader *r, struct span bytes, uint64_t id)
{
	struct err e = {0};
	struct image m;
	int result = image_open(&m, bytes, &e);

	memset(s, 0, sizeof(*s));
	if (result == 0)
		result = dwarf_open(&s->file, &m, true, &e);
	if (result < 0)
		return result == -ENOMEM ? result : -EBADMSG;
	s->head = find_unit(r, &s->file, id);
	return s->head ? 0 : -ENOENT;
}

/* ---- packages -------------------------------------------------------------------------- */

struct index {
	const uint8_t *ids, *rows, *names, *offsets, *sizes;
	uint32_t columns, units, slots;
	bool swap;
};

static int read_index(const struct dwarf_file *f, struct index *x)
{
	struct span s = f->s[DWARF_CU_INDEX];
	const uint8_t *p = span_at(s, 0, 16);
	uint64_t at = 16, table;

	x->swap = f->swap;
	if (!p || (load32(p, f->swap) != 2 && load16(p, f->swap) != 5))
		return -EBADMSG;
	x->columns = load32(p + 4, f->swap);
	x->units = load32(p + 8, f->swap);
	x->slots = load32(p + 12, f->swap);
	if (!x->columns || x->columns > 16 || !x->slots || (x->slots & (x->slots - 1)))
		return -EBADMSG;
	table = (uint64_t)x->units * x->columns * 4;
	x->ids = span_at(s, at, (uint64_t)x->slots * 8);
	at += (uint64_t)x->slots * 8;
	x->rows = span_at(s, at, (uint64_t)x->slots * 4);
	at += (uint64_t)x->slots * 4;
	x->names = span_at(s, at, (uint64_t)x->columns * 4);
	at += (uint64_t)x->columns * 4;
	x->offsets = span_at(s, at, table);
	x->sizes = span_at(s, at + table, table);
	return x->ids && x->rows && x->names && x->offsets && x->sizes ? 0 : -EBADMSG;
}

/* Finds the row of a unit, counted from 0. 0, -ENOENT, -EBADMSG. */
static int find_row(const struct index *x, uint64_t id, uint32_t *row)
{
	uint32_t mask = x->slots - 1, slot = (uint32_t)id & mask,
		 step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t tries = 0; tries < x->slots; tries++, slot = (slot + step) & mask) {
		uint32_t n = load32(x->rows + (size_t)slot * 4, x->swap);

		if (!n)
			return -ENOENT;
		if (load64(x->ids + (size_t)slot * 8, x->swap) != id)
			continue;
		*row = n - 1;
		return n <= x->units ? 0 : -EBADMSG;
	}
	return -ENOENT;
}

/* Sets the sections of `to` to the parts that belong to the unit. 0, -ENOENT, -EBADMSG. */
static int take_row(struct dwarf_file *to, const struct dwarf_file *package, uint64_t id)
{
	struct index x;
	uint32_t row = 0;
	int result = read_index(package, &x);

	if (result == 0)
		result = find_row(&x, id, &row);
	if (result < 0)
		return result;
	to->s[DWARF_STR] = package->s[DWARF_STR];
	for (uint32_t i = 0; i < x.columns; i++) {
		size_t cell = ((size_t)row * x.columns + i) * 4;
		uint32_t name = load32(x.names + (size_t)i * 4, x.swap),
			 off = load32(x.offsets + cell, x.swap), n = load32(x.sizes + cell, x.swap);
		unsigned section = name < ARRAY_SIZE(columns) ? columns[name] : 0;
		const uint8_t *p;

		if (!section--)
			continue;
		p = span_at(package->s[section], off, n);
		if (!p)
			return -EBADMSG;
		to->s[section] = (struct span){p, n};
	}
	return 0;
}

/* Only an index says which parts of other sections belong to which of several units. */
static bool has_one_unit(const struct dwarf_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_units; i++)
		n += f->units[i].version < 5 || f->units[i].kind == DW_UT_split_compile;
	return n == 1;
}

int dwarf_split_of_package(struct dwarf_split *s, struct dwarf_reader *r,
	const struct dwarf_file *package, uint64_t id)
{
	int result = 0;

	memset(s, 0, sizeof(*s));
	s->file.swap = package->swap;
	s->file.dwo = true;
	if (package->s[DWARF_CU_INDEX].n)
		result = take_row(&s->file, package, id);
	else if (has_one_unit(package))
		memcpy(s->file.s, package->s, sizeof(s->file.s));
	if (result == 0)
		result = dwarf_find_units(&s->file);
	if (result < 0)
		return result;
	s->head = find_unit(r, &s->file, id);
	return s->head ? 0 : -ENOENT;
}

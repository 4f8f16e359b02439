/* ELF: the tables and units of debug information that debuggers walk through. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "obj/elf.h"

#include <stdlib.h>
#include <string.h>

int elf_walk(struct view *v, struct obj_walk *out)
{
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0)
		return r == -EAGAIN ? r : -ENOENT;
	*out = elf.walk;
	if (!elf.index.size && !elf.names_table.size && !elf.aranges.size)
		out->units.n = 0;
	return 0;
}

/* .gdb_index, versions 4 to 9, always little-endian. Its header has the offsets of its lists. The list of
 * units has the offset of each unit in .debug_info, and its length. Only DWARF's 32-bit form is read. */
#define INDEX_HEAD 12
#define INDEX_UNIT 16

struct head_list {
	uint64_t *heads;
	unsigned n, most;
};

static void add_head(const struct elf *elf, struct head_list *l, uint64_t off)
{
	if (off < elf->walk.units.n && l->n < l->most)
		l->heads[l->n++] = elf->walk.units.off + off;
}

/* Reads n numbers of `width` bytes, `step` bytes apart. */
static int read_heads(struct elf *elf, bool big, uint64_t at, unsigned n, unsigned step, unsigned width,
	struct head_list *l)
{
	_cleanup_free_ uint8_t *p = malloc((size_t)n * step + 1);
	int r = p ? elf_read(elf, "its index", at, p, (size_t)n * step) : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		const uint8_t *q = p + (size_t)i * step;

		add_head(elf, l, big ? elf_number(elf, q, width) : width == 8 ? le64(q) : le32(q));
	}
	return r;
}

static int heads_by_index(struct elf *elf, struct head_list *l)
{
	uint8_t h[INDEX_HEAD];
	uint32_t from, to;
	int r = elf_read(elf, "its index", elf->index.off, h, sizeof(h));

	if (r < 0)
		return r;
	from = le32(h + 4);
	to = le32(h + 8);
	if (le32(h) < 4 || le32(h) > 9 || from < INDEX_HEAD || to < from || to > elf->index.size)
		return -ENOENT;
	return read_heads(elf, false, elf->index.off + from, MIN((to - from) / INDEX_UNIT, l->most), INDEX_UNIT, 8,
		l);
}

/* .debug_names: only its first table is read; gdb and linkers write only one. */
#define NAMES_HEAD 36

static int heads_by_names(struct elf *elf, struct head_list *l)
{
	uint8_t h[NAMES_HEAD];
	uint64_t length, units, text, from;
	int r = elf_read(elf, "its index", elf->names_table.off, h, sizeof(h));

	if (r < 0)
		return r;
	length = elf_number(elf, h, 4);
	units = elf_number(elf, h + 8, 4);
	text = elf_number(elf, h + 32, 4);
	from = NAMES_HEAD + text + (-text & 3);
	if (length > elf->names_table.size || elf_number(elf, h + 4, 2) != 5 || units > length / 4 ||
		from + units * 4 > length + 4)
		return -ENOENT;
	return read_heads(elf, elf->big, elf->names_table.off + from, (unsigned)MIN(units, (uint64_t)l->most), 4, 4,
		l);
}

/* .debug_aranges: for each unit with code, the length of the unit's address table and the offset of the
 * unit. */
#define ARANGES_HEAD 10
#define ARANGES_MOST (1u << 20)

static int heads_by_aranges(struct elf *elf, struct head_list *l)
{
	size_t n = (size_t)MIN(elf->aranges.size, (uint64_t)ARANGES_MOST), at = 0;
	_cleanup_free_ uint8_t *p = malloc(n + 1);
	int r = p ? elf_read(elf, "its addresses", elf->aranges.off, p, n) : -ENOMEM;

	while (r == 0 && n - at >= ARANGES_HEAD) {
		uint64_t length = elf_number(elf, p + at, 4);

		if (elf_number(elf, p + at + 4, 2) != 2 || length < ARANGES_HEAD - 4)
			return -ENOENT;
		add_head(elf, l, elf_number(elf, p + at + 6, 4));
		if (length > n - at - 4)
			break;
		at += (size_t)length + 4;
	}
	return r;
}

int elf_heads(struct view *v, uint64_t *heads, unsigned most)
{
	struct head_list l = {heads, 0, most};
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0 || !elf.walk.units.n)
		return r == -EAGAIN ? r : -ENOENT;
	r = elf.index.size >= INDEX_HEAD ? heads_by_index(&elf, &l) : -ENOENT;
	if (r < 0 && r != -EAGAIN && elf.names_table.size >= NAMES_HEAD)
		r = heads_by_names(&elf, &l);
	if (r < 0 && r != -EAGAIN && elf.aranges.size >= ARANGES_HEAD)
		r = heads_by_aranges(&elf, &l);
	return r == 0 ? (int)l.n : r == -EAGAIN ? r : -ENOENT;
}

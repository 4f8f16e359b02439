/* Reads the symbol tables of ELF files, and the compressed symbol table in .gnu_debugdata. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/expand.h"
#include "base/util.h"
#include "convert/symbols-private.h"

enum {
	SHT_SYMTAB = 2, SHT_DYNSYM = 11,
	STT_NOTYPE = 0, STT_FUNC = 2, STT_GNU_IFUNC = 10, STB_LOCAL = 0, STB_WEAK = 2,
	SHN_UNDEF = 0, SHN_ABS = 0xfff1, SHN_COMMON = 0xfff2,
	EM_PPC64 = 21, EM_ARM = 40,
	TABLE_SYMTAB = 0, TABLE_DYNSYM, TABLE_DEBUGDATA
};

/* Whether the name is a mapping symbol ($a, $d, $x), which marks where instructions or data begin, or a
 * local label. */
static bool is_mark(const char *name)
{
	return name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

/* Resolves a function's descriptor. In version 1 of the 64-bit PowerPC ABI the symbol points to a descriptor
 * in .opd, which holds the address of the code. */
static uint64_t through_descriptor(const struct symbols *s, uint64_t addr)
{
	const uint8_t *p = NULL;

	if (s->m->machine == EM_PPC64 && addr >= s->opd.addr)
		p = span_at(s->opd.bytes, addr - s->opd.addr, 8);
	return p ? load64(p, s->m->swap) : addr;
}

static int add_symbol(struct symbols *s, const uint8_t *p, struct span names)
{
	bool wide = s->m->is64, swap = s->m->swap;
	unsigned info = p[wide ? 4 : 12], type = info & 15, bind = info >> 4;
	unsigned section = load16(p + (wide ? 6 : 14), swap);
	uint64_t name = load32(p, swap);
	struct symbol x = {
		.addr = wide ? load64(p + 8, swap) : load32(p + 4, swap),
		.size = wide ? load64(p + 16, swap) : load32(p + 8, swap),
		.rank = bind == STB_LOCAL ? GSYM_LOCAL : bind == STB_WEAK ? GSYM_WEAK : GSYM_GLOBAL,
		.typed = type != STT_NOTYPE,
	};

	if ((type != STT_NOTYPE && type != STT_FUNC && type != STT_GNU_IFUNC) ||
		section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON)
		return 0;
	if (name >= names.n || !memchr(names.p + name, 0, names.n - name))
		return 0;
	x.name = (const char *)names.p + name;
	if (!x.name[0] || (!x.typed && is_mark(x.name)))
		return 0;
	if (s->m->machine == EM_ARM && x.typed)
		x.addr &= ~1ull; /* the lowest bit marks Thumb code */
	x.addr = through_descriptor(s, x.addr);
	if (s->m->placed && section >= s->m->n_sections)
		return 0;
	x.addr += s->m->placed ? s->m->placed[section] : 0;
	return symbols_add(s, &x);
}

static int read_table(struct symbols *s, const struct image_section *table)
{
	size_t each = s->m->is64 ? 24 : 16;
	struct image_section names;
	int r = 0;

	if (image_section(s->m, table->link, &names) < 0)
		return 0;
	for (size_t at = each; r == 0 && at + each <= table->bytes.n; at += each)
		r = add_symbol(s, table->bytes.p + at, names.bytes);
	return r;
}

/* Reads the tables of s->m, which is the file itself or its .gnu_debugdata. */
static int read_tables(struct symbols *s, const struct image *outer)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->m->n_sections; i++) {
		struct image_section table;

		if (image_section(s->m, i, &table) < 0 || (table.type != SHT_SYMTAB && table.type != SHT_DYNSYM))
			continue;
		s->table = s->m != outer ? TABLE_DEBUGDATA : table.type == SHT_SYMTAB ? TABLE_SYMTAB : TABLE_DYNSYM;
		r = read_table(s, &table);
	}
	return r;
}

/* Limits for .gnu_debugdata: an ELF file, compressed with xz, with the symbols that a distribution left in
 * a stripped program. Real sections shrink to a fifth. A broken section is ignored. */
#define DEBUGDATA_MOST (256ull << 20)
#define DEBUGDATA_ANYWAY (1u << 20)
#define DEBUGDATA_RATIO 200

static int read_debugdata(struct symbols *s)
{
	const struct image *outer = s->m;
	struct image_section packed;
	struct err e = {0};
	struct image inner;
	int r;

	if (image_find(outer, ".gnu_debugdata", &packed) < 0 || !packed.bytes.n)
		return 0;
	s->debugdata.most =
		MIN(packed.bytes.n * DEBUGDATA_RATIO + DEBUGDATA_ANYWAY, DEBUGDATA_MOST);
	r = expand_xz(packed.bytes, &s->debugdata);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (image_open(&inner, (struct span){(uint8_t *)s->debugdata.p, s->debugdata.n}, &e) < 0 ||
		inner.kind != IMAGE_ELF || inner.machine != outer->machine)
		return 0;
	s->m = &inner;
	r = read_tables(s, outer);
	s->m = outer;
	return r;
}

int symbols_of_elf(struct symbols *s)
{
	int r;

	if (image_find(s->m, ".opd", &s->opd) < 0)
		s->opd = (struct image_section){0};
	r = read_tables(s, s->m);
	return r < 0 ? r : read_debugdata(s);
}

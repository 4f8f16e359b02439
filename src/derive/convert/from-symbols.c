/* Turns symbol tables into functions: which symbols are functions, and where each ends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/from-symbols.h"
#include "base/bytes.h"
#include "base/expand.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "derive/convert/symbols-private.h"

/* ---- ELF ------------------------------------------------------------------------------------- */

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

/* Adds all symbols of a file of one format; broken symbols are left out. 0, -ENOMEM. */
static int symbols_of_elf(struct symbols *s)
{
	int r;

	if (image_find(s->m, ".opd", &s->opd) < 0)
		s->opd = (struct image_section){0};
	r = read_tables(s, s->m);
	return r < 0 ? r : read_debugdata(s);
}

/* ---- Mach-O ---------------------------------------------------------------------------------- */

enum { N_STAB = 0xe0, N_TYPE = 0x0e, N_SECT = 0x0e, N_EXT = 1 };

/* Mach-O symbols have no size, and begin with an underscore that the name in the source lacks. */
static int add_macho_symbol(struct symbols *s, const uint8_t *p, struct span names)
{
	uint64_t at = load32(p, s->m->swap);
	struct symbol x = {
		.addr = s->m->is64 ? load64(p + 8, s->m->swap) : load32(p + 8, s->m->swap),
		.rank = p[4] & N_EXT ? GSYM_GLOBAL : GSYM_LOCAL,
		.typed = true,
	};

	if (p[4] & N_STAB || (p[4] & N_TYPE) != N_SECT || at >= names.n ||
		!memchr(names.p + at, 0, names.n - at))
		return 0;
	x.name = (const char *)names.p + at;
	x.name += x.name[0] == '_';
	return x.name[0] ? symbols_add(s, &x) : 0;
}

static int symbols_of_macho(struct symbols *s)
{
	size_t each = s->m->is64 ? 16 : 12;
	struct image_macho macho;
	int r = 0;

	if (image_macho(s->m, &macho) < 0)
		return 0;
	for (size_t at = 0; r == 0 && at + each <= macho.symbols.n; at += each)
		r = add_macho_symbol(s, macho.symbols.p + at, macho.names);
	return r;
}

/* ---- PE -------------------------------------------------------------------------------------- */

enum {
	CLASS_EXTERNAL = 2, CLASS_STATIC = 3, TYPE_FUNCTION = 0x20, SYMBOL_SIZE = 18,
	MACHINE_386 = 0x14c, MACHINE_X86_64 = 0x8664
};

/* The size of the function at `rva` by its unwind entry; 0: the function has no unwind entry. */
static uint64_t size_of(const struct image *m, const struct image_pe *pe, uint64_t rva)
{
	size_t n = m->machine == MACHINE_X86_64 ? pe->unwind.n / 12 : 0;
	size_t i = search_first(k, 0, n, load32(pe->unwind.p + k * 12, m->swap) < rva);
	const uint8_t *p = i < n ? pe->unwind.p + i * 12 : NULL;
	uint32_t end = p && load32(p, m->swap) == rva ? load32(p + 4, m->swap) : 0;

	return end > rva ? end - rva : 0;
}

/* The text at `rva`. NULL: no section has the address, or the text has no NUL. */
static const char *text_at(const struct image *m, struct image_section *last, uint64_t rva)
{
	struct span s = image_at(m, last, rva);

	return s.n && memchr(s.p, 0, s.n) ? (const char *)s.p : NULL;
}

static int read_exports(struct symbols *s, const struct image_pe *pe)
{
	struct image_section last = {0}, texts = {0};
	struct span dir = image_at(s->m, &last, pe->exports), names, ordinals, functions;
	uint32_t n, n_functions;
	int r = 0;

	if (!pe->exports_size || dir.n < 40)
		return 0;
	n_functions = load32(dir.p + 20, s->m->swap);
	n = load32(dir.p + 24, s->m->swap);
	functions = image_at(s->m, &last, load32(dir.p + 28, s->m->swap));
	names = image_at(s->m, &last, load32(dir.p + 32, s->m->swap));
	ordinals = image_at(s->m, &last, load32(dir.p + 36, s->m->swap));
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *name = span_at(names, (uint64_t)i * 4, 4),
			      *ordinal = span_at(ordinals, (uint64_t)i * 2, 2), *function;
		struct symbol x = {.rank = GSYM_GLOBAL, .typed = true};
		uint32_t rva;

		if (!name || !ordinal)
			break;
		if (load16(ordinal, s->m->swap) >= n_functions)
			continue;
		function = span_at(functions, load16(ordinal, s->m->swap) * 4ull, 4);
		rva = function ? load32(function, s->m->swap) : 0;
		/* An address inside the export table leads to the name of another library's function. */
		if (!rva || (rva >= pe->exports && rva - pe->exports < pe->exports_size))
			continue;
		x.name = text_at(s->m, &texts, load32(name, s->m->swap));
		x.addr = pe->base + rva;
		x.size = size_of(s->m, pe, rva);
		if (x.name)
			r = symbols_add(s, &x);
	}
	return r;
}

/* `room` takes a copy of an eight-byte name, which has no NUL. */
static const char *name_of(const struct symbols *s, const uint8_t *p, char *room)
{
	const uint8_t *nul;
	uint32_t off;

	if (load32(p, s->m->swap)) {
		memcpy(room, p, 8);
		room[8] = '\0';
		return room;
	}
	off = load32(p + 4, s->m->swap);
	nul = off < s->m->names.n ? memchr(s->m->names.p + off, 0, s->m->names.n - off) : NULL;
	return nul ? (const char *)s->m->names.p + off : "";
}

static int add_coff(struct symbols *s, const struct image_pe *pe, const uint8_t *p, char *room)
{
	unsigned section = load16(p + 12, s->m->swap), class = p[16];
	struct symbol x = {
		.name = name_of(s, p, room),
		.rank = class == CLASS_EXTERNAL ? GSYM_GLOBAL : GSYM_LOCAL,
		.typed = load16(p + 14, s->m->swap) == TYPE_FUNCTION,
	};
	struct image_section at;

	/* A static symbol without a type is a section or a label. */
	if ((class != CLASS_EXTERNAL && (class != CLASS_STATIC || !x.typed)) || !section ||
		section > s->m->n_sections || image_coff_section(s->m, section - 1, &at) < 0)
		return 0;
	x.addr = pe->base + at.addr + load32(p + 8, s->m->swap);
	x.size = size_of(s->m, pe, x.addr - pe->base);
	x.name += s->m->machine == MACHINE_386 && x.name[0] == '_';
	return x.name[0] ? symbols_add(s, &x) : 0;
}

static int read_coff_table(struct symbols *s, const struct image_pe *pe)
{
	size_t n = pe->symbols.n / SYMBOL_SIZE;
	int r = 0;

	s->names = n ? malloc(n * 9) : NULL;
	if (n && !s->names)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *p = pe->symbols.p + i * SYMBOL_SIZE;

		r = add_coff(s, pe, p, s->names + i * 9);
		i += p[17]; /* auxiliary entries of this symbol */
	}
	return r;
}

/* The symbol table that MinGW's linkers leave in the file, and the exports. */
static int symbols_of_pe(struct symbols *s)
{
	struct image_pe pe;
	int r;

	image_pe(s->m, &pe);
	r = read_coff_table(s, &pe);
	s->table = 1;
	return r < 0 ? r : read_exports(s, &pe);
}

/* ---- all formats ----------------------------------------------------------------------------- */

/* Orders symbols by address. At one address, symbols with a size come first, then symbols with a type. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return COMPARE(x->addr, y->addr) ?: COMPARE(!x->size, !y->size) ?: COMPARE(y->typed, x->typed)
		?: strcmp(x->name, y->name);
}

/* Adds the lines in [start, end) that belong to no function of the debug information. */
static void tell_rows(struct symbols *s, uint64_t start, uint64_t end)
{
	const struct strays *all = s->strays;
	size_t from = search_first(i, 0, all->n, all->all[i].reach <= start);

	for (; from < all->n && all->all[from].low < end; from++) {
		const struct stray_row *rows = all->rows + all->all[from].rows;
		size_t n = all->all[from].n_rows, i = search_first(k, 0, n, rows[k].addr <= start);
		uint64_t stop = MIN(end, all->all[from].high);

		if (stop <= start)
			continue;
		for (i = i ? i - 1 : 0; i < n && rows[i].addr < stop; i++)
			gsym_add_row(s->w, MAX(rows[i].addr, start), rows[i].file, rows[i].line);
	}
}

static void tell_symbol(struct symbols *s, const struct symbol *x, uint64_t size)
{
	gsym_begin(s->w, x->addr, size, gsym_name(s->w, x->name, strlen(x->name)), x->rank);
	tell_rows(s, x->addr, x->addr + size);
	gsym_end(s->w);
}

/* Where a symbol without a size ends. */
static uint64_t symbol_end(const struct symbols *s, size_t i)
{
	const struct symbol *x = &s->all[i];
	const struct text_range *text = text_range_of(s->text, s->n_text, x->addr);
	uint64_t end = text->end;
	size_t from = search_first(k, 0, s->n_known, s->known[k].start <= x->addr); /* the first function after it */

	if (from < s->n_known)
		end = MIN(end, s->known[from].start);
	while (i < s->n && s->all[i].addr == x->addr)
		i++;
	return i < s->n ? MIN(end, s->all[i].addr) : end;
}

/* Writes the symbols that are functions. A symbol with neither type nor size is a label if it lies in a
 * function, and a function otherwise. But a global symbol is a function even inside another symbol, if that
 * symbol has no type: assembler has tables of functions. A symbol with a type but no size is a function,
 * unless a symbol with a size begins at its address. */
static void tell_symbols(struct symbols *s)
{
	uint64_t typed_reach = 0, reach = 0, sized_at = UINT64_MAX, same_at = UINT64_MAX,
		 same_end = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct symbol *x = &s->all[i];
		uint64_t size = x->size;

		if (size)
			sized_at = x->addr;
		else if (x->addr == sized_at ||
			 (!x->typed &&
				 x->addr < (x->rank == GSYM_LOCAL ? reach : typed_reach)))
			continue;
		if (!size) {
			if (same_at != x->addr)
				same_end = symbol_end(s, i);
			same_at = x->addr;
			size = same_end - x->addr;
		}
		tell_symbol(s, x, size);
		reach = MAX(reach, x->addr + size);
		if (x->typed)
			typed_reach = MAX(typed_reach, x->addr + size);
	}
}

static int read_symbols(struct symbols *s)
{
	int r = text_ranges(s->m, &s->text, &s->n_text);

	if (r == 0)
		r = symbols_collect_known(s);
	if (r == 0)
		r = s->m->kind == IMAGE_ELF	  ? symbols_of_elf(s)
		    : s->m->kind == IMAGE_MACHO ? symbols_of_macho(s)
		    : s->m->kind == IMAGE_WASM	? symbols_of_wasm(s)
						  : symbols_of_pe(s);
	if (r < 0)
		return r;
	symbols_name_known(s);
	sort_array(s->all, s->n, sizeof(*s->all), compare_symbols);
	tell_symbols(s);
	return gsym_error(s->w);
}

static int compare_strays(const void *a, const void *b)
{
	const struct stray_lines *x = a, *y = b;

	return COMPARE(x->low, y->low) ?: COMPARE(x->rows, y->rows);
}

int gsym_from_symbols(
	struct gsym_writer *w, const struct image *m, struct strays *strays, struct err *e)
{
	struct symbols s = {.w = w, .m = m, .strays = strays};
	uint64_t reach = 0;
	int r;

	sort_array(strays->all, strays->n, sizeof(*strays->all), compare_strays);
	for (size_t i = 0; i < strays->n; i++)
		strays->all[i].reach = reach = MAX(reach, strays->all[i].high);
	r = read_symbols(&s);

	free(s.text);
	free(s.all);
	free(s.known);
	free(s.aliases);
	free(s.reach);
	free(s.names);
	buf_release(&s.debugdata);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

/* Places the sections of an object file and relocates its debug information, as a linker would. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/image/relocate.h"
#include "base/util.h"
#include "base/bytes.h"

#include <sys/mman.h>

enum {
	SHT_SYMTAB = 2, SHT_RELA = 4, SHT_REL = 9, SHT_SYMTAB_SHNDX = 18, SHF_ALLOC = 2,
	SHN_ABS = 0xfff1, SHN_COMMON = 0xfff2, SHN_XINDEX = 0xffff,
	EM_386 = 3, EM_PPC = 20, EM_PPC64 = 21, EM_S390 = 22, EM_ARM = 40, EM_X86_64 = 62,
	EM_AARCH64 = 183, EM_RISCV = 243, EM_LOONGARCH = 258
};

/* SET writes a value; ADD and SUB change it. RISC-V's linker moves code, so its assembler expresses a
 * difference as two relocations. */
enum how { SET, ADD, SUB };

/* The relocations that occur in debug information. A size of 6 means the low 6 bits of a byte. */
static const struct rule {
	uint16_t machine, type, bits;
	enum how how;
} rules[] = {
	{EM_X86_64, 1, 64, SET}, {EM_X86_64, 10, 32, SET}, {EM_X86_64, 11, 32, SET},
	{EM_386, 1, 32, SET},
	{EM_AARCH64, 257, 64, SET}, {EM_AARCH64, 258, 32, SET}, {EM_AARCH64, 259, 16, SET},
	{EM_ARM, 2, 32, SET},
	{EM_PPC, 1, 32, SET},
	{EM_PPC64, 1, 32, SET}, {EM_PPC64, 38, 64, SET},
	{EM_S390, 4, 32, SET}, {EM_S390, 22, 64, SET},
	{EM_RISCV, 1, 32, SET}, {EM_RISCV, 2, 64, SET},
	{EM_RISCV, 33, 8, ADD}, {EM_RISCV, 34, 16, ADD}, {EM_RISCV, 35, 32, ADD}, {EM_RISCV, 36, 64, ADD},
	{EM_RISCV, 37, 8, SUB}, {EM_RISCV, 38, 16, SUB}, {EM_RISCV, 39, 32, SUB}, {EM_RISCV, 40, 64, SUB},
	{EM_RISCV, 52, 6, SUB}, {EM_RISCV, 53, 6, SET},
	{EM_RISCV, 54, 8, SET}, {EM_RISCV, 55, 16, SET}, {EM_RISCV, 56, 32, SET},
	{EM_LOONGARCH, 1, 32, SET}, {EM_LOONGARCH, 2, 64, SET},
	{EM_LOONGARCH, 47, 8, ADD}, {EM_LOONGARCH, 48, 16, ADD}, {EM_LOONGARCH, 50, 32, ADD},
	{EM_LOONGARCH, 51, 64, ADD},
	{EM_LOONGARCH, 52, 8, SUB}, {EM_LOONGARCH, 53, 16, SUB}, {EM_LOONGARCH, 55, 32, SUB},
	{EM_LOONGARCH, 56, 64, SUB},
};

/* ---- where sections lie ----------------------------------------------------------------- */

int image_place(struct image *m, uint64_t **out, struct err *e)
{
	uint64_t *all = calloc(m->n_sections + 1, sizeof(*all)), at = 0;

	if (!all)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	for (uint32_t i = 0; i < m->n_sections; i++) {
		struct image_section s;
		uint64_t align;

		image_section(m, i, &s); /* the section's header was checked; its bytes may be missing */
		if (!(s.flags & SHF_ALLOC))
			continue;
		align = s.align && !(s.align & (s.align - 1)) ? s.align : 1;
		if (at > UINT64_MAX - align || s.size > UINT64_MAX / 2 ||
			((at + align - 1) & ~(align - 1)) > UINT64_MAX / 2) {
			free(all);
			return err_set(e, -EBADMSG, "is broken: its sections are larger than all memory");
		}
		at = (at + align - 1) & ~(align - 1);
		all[i] = at;
		at += s.size;
	}
	*out = all;
	m->placed = all;
	return 0;
}

/* ---- values of symbols ------------------------------------------------------------------ */

struct symbols {
	const struct image *m;
	struct span all, sections; /* `sections`: the section numbers that do not fit in a symbol */
};

static void open_symbols(const struct image *m, uint32_t table, struct symbols *out)
{
	struct image_section s;

	memset(out, 0, sizeof(*out));
	out->m = m;
	if (image_section(m, table, &s) == 0 && s.type == SHT_SYMTAB)
		out->all = s.bytes;
	for (uint32_t i = 0; out->all.n && i < m->n_sections; i++)
		if (image_section(m, i, &s) == 0 && s.type == SHT_SYMTAB_SHNDX && s.link == table)
			out->sections = s.bytes;
}

/* A symbol that is defined elsewhere has the value 0. */
static uint64_t symbol_value(const struct symbols *s, uint32_t i)
{
	bool wide = s->m->is64, swap = s->m->swap;
	const uint8_t *p = span_at(s->all, (uint64_t)i * (wide ? 24 : 16), wide ? 24 : 16), *x;
	uint64_t value;
	uint32_t section;

	if (!p)
		return 0;
	value = wide ? load64(p + 8, swap) : load32(p + 4, swap);
	section = load16(p + (wide ? 6 : 14), swap);
	if (section == SHN_ABS)
		return value;
	if (section == SHN_XINDEX) {
		x = span_at(s->sections, (uint64_t)i * 4, 4);
		section = x ? load32(x, swap) : 0;
	}
	return section && section < s->m->n_sections ? value + s->m->placed[section] : 0;
}

/* ---- relocations ------------------------------------------------------------------------ */

static const struct rule *rule_of(const struct image *m, uint32_t type, bool *known)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		*known = *known || rules[i].machine == m->machine;
		if (rules[i].machine == m->machine && rules[i].type == type)
			return &rules[i];
	}
	return NULL;
}

static void store(uint8_t *p, unsigned bits, bool big, uint64_t v)
{
	unsigned n = bits / 8;

	if (bits == 6) {
		*p = (uint8_t)((*p & 0xc0) | (v & 0x3f));
		return;
	}
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));
}

struct relocation {
	uint64_t at, addend;
	uint32_t type, symbol;
	bool has_addend; /* else the addend is in the section's bytes */
};

static void apply(const struct symbols *s, const struct rule *rule, const struct relocation *x,
	uint8_t *bytes, size_t n)
{
	size_t size = rule->bits == 6 ? 1 : rule->bits / 8u;
	uint64_t old, value = symbol_value(s, x->symbol) + x->addend;
	uint8_t *p;

	if (x->at > n || size > n - x->at)
		return;
	p = bytes + x->at;
	old = load_number(p, (unsigned)size, s->m->big);
	if (rule->how == SET)
		value += x->has_addend ? 0 : old;
	else
		value = rule->how == ADD ? old + value : old - value;
	store(p, rule->bits, s->m->big, value);
}

static void read_one(const struct image *m, const uint8_t *p, bool addend, struct relocation *out)
{
	bool wide = m->is64, swap = m->swap;
	uint64_t info = wide ? load64(p + 8, swap) : load32(p + 4, swap);

	out->at = wide ? load64(p, swap) : load32(p, swap);
	out->type = (uint32_t)(wide ? info & 0xffffffff : info & 0xff);
	out->symbol = (uint32_t)(wide ? info >> 32 : info >> 8);
	out->has_addend = addend;
	out->addend = !addend ? 0 : wide ? load64(p + 16, swap) : load32(p + 8, swap);
}

static int apply_all(const struct image *m, const struct image_section *table, uint8_t *bytes, size_t n)
{
	bool addend = table->type == SHT_RELA, known = false, any = false;
	size_t each = m->is64 ? (addend ? 24 : 16) : (addend ? 12 : 8);
	struct symbols s;

	open_symbols(m, table->link, &s);
	for (size_t at = 0; at + each <= table->bytes.n; at += each) {
		struct relocation x;
		const struct rule *rule;

		read_one(m, table->bytes.p + at, addend, &x);
		rule = rule_of(m, x.type, &known);
		any = true;
		/* Other relocations, for instance of thread-local variables, do not affect addresses of
		 * code. */
		if (rule)
			apply(&s, rule, &x, bytes, n);
	}
	return any && !known ? -ENOTSUP : 0;
}

/* Makes a writable copy of the bytes. */
static int make_own(struct span *bytes, size_t *mapped, struct err *e)
{
	void *p;

	if (*mapped || !bytes->n)
		return 0;
	p = mmap(NULL, bytes->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	memcpy(p, bytes->p, bytes->n);
	bytes->p = p;
	*mapped = bytes->n;
	return 0;
}

int image_relocate(const struct image *m, uint32_t index, struct span *bytes, size_t *mapped,
	struct err *e)
{
	struct image_section table;
	int r = 0;

	for (uint32_t i = 0; m->placed && r == 0 && i < m->n_sections; i++) {
		if (image_section(m, i, &table) < 0 || table.info != index || !table.bytes.n ||
			(table.type != SHT_RELA && table.type != SHT_REL))
			continue;
		r = make_own(bytes, mapped, e);
		if (r == 0 && bytes->n)
			r = apply_all(m, &table, (uint8_t *)bytes->p, bytes->n);
		if (r == -ENOTSUP)
			err_set(e, r, "is not linked, and the relocations of its machine are not known");
	}
	return r;
}

/* Reads which function each entry of a program's table of imported functions (PLT) jumps to: its instructions load
 * the address from a word of the GOT, and a relocation says which symbol's address the word gets. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obj/plt.h"
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "obj/elf.h"

#include <string.h>

enum {
	SHT_PROGBITS = 1, SHT_RELA = 4, SHT_REL = 9, EM_386 = 3, EM_X86_64 = 62, EM_AARCH64 = 183,
	R_X86_GLOB_DAT = 6, R_X86_JUMP_SLOT = 7, R_AARCH64_GLOB_DAT = 1025, R_AARCH64_JUMP_SLOT = 1026
};

#define SLOTS_MOST (1u << 20)
#define READ_MOST (128u << 20) /* bytes of all sections */
#define CODE_MOST (8u << 20)   /* bytes of a section of instructions */
#define NAMES_MOST (16u << 20) /* bytes of all names */
#define NAME_MOST 4096u
#define AT_PLT "@plt"

static const struct elf_field sh_name = {0, 4, 0, 4}, sh_type = {4, 4, 4, 4}, sh_flags = {8, 4, 8, 8},
	sh_addr = {12, 4, 16, 8}, sh_offset = {16, 4, 24, 8}, sh_size = {20, 4, 32, 8}, sh_link = {24, 4, 40, 4},
	rel_offset = {0, 4, 0, 8}, rel_info = {4, 4, 8, 8};

struct section {
	uint32_t type, link;
	uint64_t flags, addr, at, size;
	char name[12];
};

struct reading {
	struct elf elf;
	struct section names, symbols, strings;
	uint64_t got; /* x86: the address in ebx */
	struct plt_entry *slot; /* words of the GOT, and the number of the dynamic symbol whose address each gets */
	size_t n, room;
	uint64_t budget; /* bytes that may still be read: sections of a hostile file can share their bytes */
	struct plt *out;
};

static int read_section(struct reading *r, uint32_t i, struct section *s)
{
	const uint8_t *h;
	int status = elf_table_at(&r->elf, &r->elf.sections, i, &h);
	uint32_t name;

	if (status < 0)
		return status;
	name = (uint32_t)elf_field(&r->elf, h, sh_name);
	*s = (struct section){.type = (uint32_t)elf_field(&r->elf, h, sh_type),
		.link = (uint32_t)elf_field(&r->elf, h, sh_link),
		.flags = elf_field(&r->elf, h, sh_flags),
		.addr = elf_field(&r->elf, h, sh_addr),
		.at = elf_field(&r->elf, h, sh_offset),
		.size = elf_field(&r->elf, h, sh_size)};
	if (name < r->names.size && (s->flags & SHF_ALLOC))
		status = elf_read(&r->elf, "a name", r->names.at + name, s->name,
			(size_t)MIN(sizeof(s->name) - 1, r->names.size - name));
	return status;
}

/* ---- relocations ----------------------------------------------------------------------- */

static int add_slot(struct reading *r, const uint8_t *p)
{
	uint64_t info = elf_field(&r->elf, p, rel_info), type = r->elf.is64 ? (uint32_t)info : info & 0xff;
	uint32_t symbol = (uint32_t)(info >> (r->elf.is64 ? 32 : 8));
	bool arm = r->elf.machine == EM_AARCH64;

	if (!symbol || (type != (arm ? R_AARCH64_GLOB_DAT : R_X86_GLOB_DAT) &&
			       type != (arm ? R_AARCH64_JUMP_SLOT : R_X86_JUMP_SLOT)))
		return 0;
	if (r->n == SLOTS_MOST || grow(&r->slot, &r->room, r->n, sizeof(*r->slot)) < 0)
		return r->n == SLOTS_MOST ? 0 : -ENOMEM;
	r->slot[r->n++] = (struct plt_entry){elf_field(&r->elf, p, rel_offset), symbol};
	return 0;
}

static int read_relocations(struct reading *r, const struct section *s)
{
	size_t each = (r->elf.is64 ? 8 : 4) * (s->type == SHT_RELA ? 3 : 2), n;
	uint8_t room[6 * 1024];
	int status = 0;

	for (uint64_t at = 0; status == 0 && s->size - at >= each; at += n) {
		n = (size_t)MIN(sizeof(room), s->size - at) / each * each;
		status = elf_read(&r->elf, "relocations", s->at + at, room, n);
		for (size_t i = 0; status == 0 && i < n; i += each)
			status = add_slot(r, room + i);
	}
	return status;
}

/* The end of a section comes before an entry at the same address, because its name was added first. */
static int by_addr(const void *a, const void *b)
{
	const struct plt_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->of > y->of) - (x->of < y->of);
}

/* ---- instructions ------------------------------------------------------------------------- */

/* Finds at the beginning of an entry the word of the GOT that it jumps through. */
static bool x86_slot(const struct reading *r, const uint8_t *p, size_t n, uint64_t addr, uint64_t *out)
{
	size_t i = n >= 4 && memcmp(p, "\xf3\x0f\x1e", 3) == 0 ? 4 : 0; /* endbr64 */
	bool wide = r->elf.machine == EM_X86_64;

	i += i < n && p[i] == 0xf2; /* bnd */
	if (n < i + 6 || p[i] != 0xff || (p[i + 1] != 0x25 && (wide || p[i + 1] != 0xa3)))
		return false;
	*out = (uint64_t)(int64_t)(int32_t)le32(p + i + 2);
	*out += wide ? addr + i + 6 : p[i + 1] == 0xa3 ? r->got : 0;
	if (!wide)
		*out = (uint32_t)*out;
	return true;
}

static bool arm64_slot(const uint8_t *p, size_t n, uint64_t addr, uint64_t *out)
{
	size_t i = n >= 4 && le32(p) == 0xd503245f ? 4 : 0; /* bti c */
	uint32_t adrp = n >= i + 8 ? le32(p + i) : 0, ldr = n >= i + 8 ? le32(p + i + 4) : 0;
	uint64_t page = (uint64_t)(adrp >> 5 & 0x7ffff) << 14 | (uint64_t)(adrp >> 29 & 3) << 12;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page |= page >> 32 & 1 ? ~0ull << 33 : 0;
	*out = ((addr + i) & ~0xfffull) + page + (ldr >> 10 & 0xfff) * 8;
	return true;
}

static int add_entry(struct reading *r, uint64_t addr, const char *name)
{
	struct plt *p = r->out;

	if (grow(&p->entry, &p->room, p->n, sizeof(*p->entry)) < 0)
		return -ENOMEM;
	p->entry[p->n++] = (struct plt_entry){addr, (uint32_t)p->names.n};
	return buf_add(&p->names, name, strlen(name) + 1);
}

static int add_named(struct reading *r, uint64_t addr, uint32_t symbol)
{
	size_t each = r->elf.is64 ? 24 : 16;
	char name[NAME_MOST + sizeof(AT_PLT)] = "";
	uint8_t head[4];
	uint64_t at;
	size_t n;
	int status;

	if (symbol >= r->symbols.size / each)
		return 0;
	status = elf_read(&r->elf, "a symbol", r->symbols.at + symbol * each, head, sizeof(head));
	at = elf_number(&r->elf, head, sizeof(head));
	if (status < 0 || at >= r->strings.size)
		return status;
	n = (size_t)MIN(NAME_MOST, r->strings.size - at);
	status = elf_read(&r->elf, "a symbol's name", r->strings.at + at, name, n);
	n = strnlen(name, n);
	if (status < 0 || !n || n == NAME_MOST || r->out->names.n > NAMES_MOST / 2)
		return status;
	memcpy(name + n, AT_PLT, sizeof(AT_PLT));
	return add_entry(r, addr, name);
}

/* An entry begins at each multiple of 8 bytes whose instructions jump through a word that gets a symbol's address. */
static int read_code(struct reading *r, const struct section *s)
{
	_cleanup_free_ uint8_t *code = malloc((size_t)MIN(s->size, CODE_MOST) + 1);
	size_t n = (size_t)MIN(s->size, CODE_MOST), before = r->out->n;
	int status = code ? elf_read(&r->elf, "the table of imported functions", s->at, code, n) : -ENOMEM;

	for (size_t at = 0; status == 0 && at + 6 <= n; at += 8) {
		uint64_t addr = s->addr + at, got = 0;
		bool jumps = r->elf.machine == EM_AARCH64 ? arm64_slot(code + at, n - at, addr, &got)
							  : x86_slot(r, code + at, n - at, addr, &got);
		size_t k = jumps ? search_first(i, 0, r->n, r->slot[i].addr < got) : r->n;

		if (k < r->n && r->slot[k].addr == got)
			status = add_named(r, addr, r->slot[k].of);
	}
	return status == 0 && r->out->n > before ? add_entry(r, s->addr + s->size, "") : status;
}

/* ---- the file ----------------------------------------------------------------------------- */

/* Calls read() for each section that `wants` accepts, as far as the budget lasts. */
static int each_section(struct reading *r, bool (*wants)(struct reading *r, const struct section *s),
	int (*read)(struct reading *r, const struct section *s))
{
	int status = 0;

	for (uint32_t i = 1; status == 0 && i < r->elf.sections.count; i++) {
		struct section s;

		status = read_section(r, i, &s);
		if (status < 0 || !(s.flags & SHF_ALLOC) || !wants(r, &s) || s.size > r->budget)
			continue;
		r->budget -= s.size;
		status = read(r, &s);
	}
	return status;
}

/* Takes what is one section of its kind, and wants those of relocations. */
static bool wants_relocations(struct reading *r, const struct section *s)
{
	if (s->type == SHT_DYNSYM)
		r->symbols = *s;
	if (strcmp(s->name, ".got.plt") == 0 || (strcmp(s->name, ".got") == 0 && !r->got))
		r->got = s->addr;
	return s->type == SHT_RELA || s->type == SHT_REL;
}

static bool wants_code(struct reading *r, const struct section *s)
{
	return s->type == SHT_PROGBITS && strncmp(s->name, ".plt", 4) == 0 && r->n;
}

static int read_all(struct reading *r, struct view *v)
{
	struct err e = {0};
	int status = elf_open(&r->elf, v, &e);
	unsigned machine = r->elf.machine;

	if (status == 0 && machine != EM_386 && machine != EM_X86_64 && machine != EM_AARCH64)
		return 0;
	if (status == 0 && r->elf.names_index < r->elf.sections.count)
		status = read_section(r, r->elf.names_index, &r->names);
	if (status == 0)
		status = each_section(r, wants_relocations, read_relocations);
	if (status == 0 && r->symbols.link < r->elf.sections.count)
		status = read_section(r, r->symbols.link, &r->strings);
	if (r->n)
		qsort(r->slot, r->n, sizeof(*r->slot), by_addr);
	if (status == 0)
		status = each_section(r, wants_code, read_code);
	if (r->out->n)
		qsort(r->out->entry, r->out->n, sizeof(*r->out->entry), by_addr);
	return status;
}

int plt_read(struct plt *out, struct view *v)
{
	struct reading *r = calloc(1, sizeof(*r));
	int status;

	*out = (struct plt){.names = BUF_UP_TO(NAMES_MOST)};
	if (!r)
		return -ENOMEM;
	r->out = out;
	r->budget = READ_MOST;
	status = read_all(r, v);
	free(r->slot);
	free(r);
	return status;
}

const char *plt_name(const struct plt *p, const struct plt_entry *e)
{
	return buf_text(&p->names) + e->of;
}

const struct plt_entry *plt_find(const struct plt *p, uint64_t addr)
{
	size_t n = search_first(i, 0, p->n, p->entry[i].addr <= addr);

	return n && plt_name(p, &p->entry[n - 1])[0] ? &p->entry[n - 1] : NULL;
}

void plt_release(struct plt *p)
{
	free(p->entry);
	buf_release(&p->names);
	*p = (struct plt){0};
}

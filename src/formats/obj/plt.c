/* Reads which function an entry of a program's table of imported functions (PLT) jumps to: its instructions load the
 * address from a word of the GOT, and a relocation says which symbol's address the word gets. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/plt.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/obj/elf.h"

#include <string.h>

enum {
	SHT_PROGBITS = 1, SHT_RELA = 4, SHT_REL = 9, EM_386 = 3, EM_X86_64 = 62, EM_AARCH64 = 183,
	R_X86_GLOB_DAT = 6, R_X86_JUMP_SLOT = 7, R_AARCH64_GLOB_DAT = 1025, R_AARCH64_JUMP_SLOT = 1026
};

#define ENTRY_MOST 24 /* bytes of an entry */
#define AT_PLT "@plt"

struct plt {
	struct elf elf;
	struct elf_section code;
	uint64_t got; /* x86: the address in ebx */
};

/* Finds the section .plt, .plt.got or .plt.sec that has the address. 1, 0, -errno. */
static int find_code(struct plt *p, uint64_t addr)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < p->elf.sections.count; i++) {
		struct elf_section s;

		r = elf_section_at(&p->elf, i, &s);
		if (r < 0 || !(s.flags & SHF_ALLOC))
			continue;
		if (strcmp(s.name, ".got.plt") == 0 || (strcmp(s.name, ".got") == 0 && !p->got))
			p->got = s.addr;
		if (s.type == SHT_PROGBITS && strncmp(s.name, ".plt", 4) == 0 && addr - s.addr < s.at.size)
			p->code = s;
	}
	return r == 0 ? p->code.at.size > 0 : r;
}

/* ---- instructions ------------------------------------------------------------------------- */

/* Finds at the beginning of an entry the word of the GOT that it jumps through. */
static bool x86_slot(const struct plt *p, const uint8_t code[static ENTRY_MOST], uint64_t addr, uint64_t *out)
{
	unsigned i = memcmp(code, "\xf3\x0f\x1e", 3) == 0 ? 4 : 0; /* endbr64 */
	bool wide = p->elf.machine == EM_X86_64;

	i += code[i] == 0xf2; /* bnd */
	if (code[i] != 0xff || (code[i + 1] != 0x25 && (wide || code[i + 1] != 0xa3)))
		return false;
	*out = (uint64_t)(int64_t)(int32_t)le32(code + i + 2);
	*out += wide ? addr + i + 6 : code[i + 1] == 0xa3 ? p->got : 0;
	if (!wide)
		*out = (uint32_t)*out;
	return true;
}

static bool arm64_slot(const uint8_t code[static ENTRY_MOST], uint64_t addr, uint64_t *out)
{
	unsigned i = le32(code) == 0xd503245f ? 4 : 0; /* bti c */
	uint32_t adrp = le32(code + i), ldr = le32(code + i + 4);
	uint64_t page = (uint64_t)(adrp >> 5 & 0x7ffff) << 14 | (uint64_t)(adrp >> 29 & 3) << 12;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page |= page >> 32 & 1 ? ~0ull << 33 : 0;
	*out = ((addr + i) & ~0xfffull) + page + (ldr >> 10 & 0xfff) * 8;
	return true;
}

/* ---- relocations and symbols -------------------------------------------------------------- */

/* Finds in a section the symbol of the relocation of a word. 1, 0, -errno. */
static int find_symbol(struct plt *p, const struct elf_section *s, uint64_t slot, uint64_t *budget, uint32_t *symbol)
{
	bool wide = p->elf.is64, arm = p->elf.machine == EM_AARCH64;
	unsigned word = wide ? 8 : 4;
	size_t each = word * (s->type == SHT_RELA ? 3 : 2), n;
	uint8_t room[6 * 1024];

	for (uint64_t at = 0; s->at.size - at >= each; at += n) {
		int r;

		n = (size_t)MIN(sizeof(room), s->at.size - at) / each * each;
		if (n > *budget)
			return 0;
		*budget -= n;
		r = elf_read(&p->elf, "relocations", s->at.off + at, room, n);
		for (size_t i = 0; r == 0 && i < n; i += each) {
			uint64_t info = elf_number(&p->elf, room + i + word, word);
			uint32_t type = wide ? (uint32_t)info : info & 0xff;

			*symbol = (uint32_t)(info >> (wide ? 32 : 8));
			if (elf_number(&p->elf, room + i, word) == slot && *symbol &&
				(type == (arm ? R_AARCH64_GLOB_DAT : R_X86_GLOB_DAT) ||
					type == (arm ? R_AARCH64_JUMP_SLOT : R_X86_JUMP_SLOT)))
				return 1;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Writes the name of a dynamic symbol, with "@plt". 1, 0, -errno. */
static int read_name(struct plt *p, const struct elf_section *relocations, uint32_t symbol,
	char name[static PLT_NAME])
{
	size_t each = p->elf.is64 ? 24 : 16, n;
	struct elf_section symbols, strings;
	uint8_t head[4];
	uint64_t at;
	int r = elf_section_at(&p->elf, relocations->link, &symbols);

	if (r == 0)
		r = elf_section_at(&p->elf, symbols.link, &strings);
	if (r < 0 || symbol >= symbols.at.size / each)
		return r;
	r = elf_read(&p->elf, "a symbol", symbols.at.off + symbol * each, head, sizeof(head));
	at = elf_number(&p->elf, head, sizeof(head));
	if (r < 0 || at >= strings.at.size)
		return r;
	n = (size_t)MIN(PLT_NAME - sizeof(AT_PLT), strings.at.size - at);
	r = elf_read(&p->elf, "a symbol's name", strings.at.off + at, name, n);
	if (r < 0 || !memchr(name, '\0', n) || !name[0])
		return r;
	memcpy(name + strlen(name), AT_PLT, sizeof(AT_PLT));
	return 1;
}

/* The last section is searched first: .rela.plt is short and behind .rela.dyn. */
static int find_name(struct plt *p, uint64_t slot, uint64_t *budget, char name[static PLT_NAME])
{
	uint32_t symbol = 0;
	struct elf_section s;
	int r = 0;

	for (uint32_t i = p->elf.sections.count; r == 0 && i-- > 1;) {
		r = elf_section_at(&p->elf, i, &s);
		if (r == 0 && (s.flags & SHF_ALLOC) && (s.type == SHT_RELA || s.type == SHT_REL))
			r = find_symbol(p, &s, slot, budget, &symbol);
	}
	return r > 0 ? read_name(p, &s, symbol, name) : r;
}

/* An entry begins at a multiple of 8 bytes. */
int plt_find(struct view *v, uint64_t addr, uint64_t *budget, uint64_t *start, char name[static PLT_NAME])
{
	struct plt p = {.got = 0};
	struct elf_section names;
	struct err e = {0};
	int r = elf_open(&p.elf, v, &e);
	uint64_t headers = r == 0 ? 2ull * p.elf.sections.count * p.elf.sections.entry : 0;
	unsigned machine = p.elf.machine;

	if (r < 0 || headers > *budget || (machine != EM_386 && machine != EM_X86_64 && machine != EM_AARCH64) ||
		p.elf.names_index >= p.elf.sections.count)
		return r;
	*budget -= headers;
	r = elf_section_at(&p.elf, p.elf.names_index, &names);
	p.elf.names = names.at;
	r = r == 0 ? find_code(&p, addr) : r;
	for (unsigned back = 0; r == 1 && back < ENTRY_MOST && back <= (addr - p.code.addr) / 8 * 8; back += 8) {
		uint8_t code[ENTRY_MOST] = {0};
		uint64_t at = (addr - p.code.addr) / 8 * 8 - back, slot = 0;

		*start = p.code.addr + at;
		r = elf_read(&p.elf, "its instructions", p.code.at.off + at, code,
			(size_t)MIN(sizeof(code), p.code.at.size - at));
		if (r == 0 && (machine == EM_AARCH64 ? arm64_slot(code, *start, &slot)
						     : x86_slot(&p, code, *start, &slot)))
			return find_name(&p, slot, budget, name);
		r = r == 0 ? 1 : r;
	}
	return MIN(r, 0);
}

/* Reads from an ELF file where its segments and its section .text are loaded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/elf.h"
#include "stacks/recognize/private.h"

#include <string.h>

#define PAGE_MASK 4095u

static const struct elf_field ph_type = {0, 4, 0, 4}, ph_offset = {4, 4, 8, 8}, ph_vaddr = {8, 4, 16, 8},
	ph_filesz = {16, 4, 32, 8}, ph_memsz = {20, 4, 40, 8};

static int read_segments(struct segments *p, struct elf *elf)
{
	for (uint32_t i = 0; i < elf->segments.count && p->n < LOADS_MOST; i++) {
		const uint8_t *h;
		int r = elf_table_at(elf, &elf->segments, i, &h);

		if (r < 0)
			return r;
		if (elf_field(elf, h, ph_type) != PT_LOAD)
			continue;
		p->load[p->n].offset = elf_field(elf, h, ph_offset);
		p->load[p->n].address = elf_field(elf, h, ph_vaddr);
		p->load[p->n].file_size = elf_field(elf, h, ph_filesz);
		p->load[p->n++].size = elf_field(elf, h, ph_memsz);
	}
	return p->n ? 0 : -ENODATA;
}

static int read_text(struct segments *p, struct elf *elf)
{
	struct elf_section s;
	int r = 0;

	if (elf->names_index >= elf->sections.count)
		return 0;
	r = elf_section_at(elf, elf->names_index, &s);
	elf->names = s.at;
	for (uint32_t i = 0; r == 0 && i < elf->sections.count && !p->has_text; i++) {
		r = elf_section_at(elf, i, &s);
		if (r == 0 && elf_section_name(elf, &s) == 0 && strcmp(s.name, ".text") == 0) {
			p->has_text = true;
			p->text = s.addr;
		}
	}
	return r;
}

int segments_read(struct segments *p, struct view *v)
{
	struct elf elf;
	struct err e = {0};
	uint8_t magic[4];
	int r = view_read(v, 0, magic, sizeof(magic));

	memset(p, 0, sizeof(*p));
	if (r < 0)
		return r;
	if (memcmp(magic, "\177ELF", 4) != 0)
		return -ENOMSG;
	r = elf_open(&elf, v, &e);
	if (r == 0)
		r = read_segments(p, &elf);
	if (r == 0)
		r = read_text(p, &elf);
	if (r < 0)
		return r;
	p->fixed = elf.type == ET_EXEC;
	p->image = p->load[0].address & ~(uint64_t)PAGE_MASK;
	p->known = true;
	return 0;
}

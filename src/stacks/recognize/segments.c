/* Reads from an ELF file where its segments and its section .text are loaded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/elf.h"
#include "formats/obj/obj.h"
#include "stacks/recognize/private.h"

#include <string.h>

#define PAGE_MASK 4095u

static int read_segments(struct segments *p, struct elf *elf)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < elf->segments.count && p->n < LOADS_MOST; i++) {
		int r = elf_segment_at(elf, i, &s);

		if (r < 0)
			return r;
		if (s.type != PT_LOAD)
			continue;
		p->load[p->n].offset = s.off;
		p->load[p->n].address = s.addr;
		p->load[p->n].file_size = s.file_size;
		p->load[p->n++].size = s.size;
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
		if (r == 0 && strcmp(s.name, ".text") == 0) {
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
	if (memcmp(magic, "\177ELF", 4) != 0) {
		r = obj_link_base(v, &p->image);
		p->known = r == 0;
		return r;
	}
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

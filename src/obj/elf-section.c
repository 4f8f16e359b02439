/* Finds a section of an ELF file by its name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "obj/elf.h"

#include <string.h>

#define NAME_MOST 512 /* bytes of a name; the path of a request has fewer */

/* 1: the section has the name; 0: another; errors as those of elf_read(). */
static int has_name(struct elf *elf, const struct elf_range *names, const struct elf_section *s, const char *name)
{
	size_t n = strlen(name) + 1;
	char is[NAME_MOST];
	int r;

	if (n > sizeof(is) || s->name_at >= names->size || names->size - s->name_at < n)
		return 0;
	r = elf_read(elf, "the table of section names", names->off + s->name_at, is, n);
	return r < 0 ? r : memcmp(is, name, n) == 0;
}

int obj_section(struct view *v, const char *name, struct obj_span *out, struct err *e)
{
	struct elf_section names, s;
	struct elf elf;
	int r = elf_open(&elf, v, e);

	if (r == 0 && elf.names_index >= elf.sections.count)
		return -ENOENT;
	if (r == 0)
		r = elf_section_at(&elf, elf.names_index, &names);
	if (r == 0 && !view_holds(v, names.at.off, names.at.size))
		return obj_cut_off(e, "the table of section names");
	for (uint32_t i = 1; r == 0 && i < elf.sections.count; i++) {
		r = elf_section_at(&elf, i, &s);
		if (r == 0)
			r = has_name(&elf, &names.at, &s, name);
	}
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (s.type == SHT_NOBITS || !s.at.size)
		return -ENOENT;
	if (!view_holds(v, s.at.off, s.at.size))
		return obj_cut_off(e, "the section");
	*out = (struct obj_span){s.at.off, s.at.size};
	return 0;
}

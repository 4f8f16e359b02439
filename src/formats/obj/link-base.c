/* Reads from a program the address at which it was linked: ELF and PE. Symbol files without addresses need it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "formats/obj/elf.h"

#include <string.h>

/* The first segment that is loaded decides, as in image_base(). */
static int elf_base(struct view *v, uint64_t *out)
{
	struct err e = {0};
	struct elf_segment s;
	struct elf elf;
	int r = elf_open(&elf, v, &e);

	for (uint32_t i = 0; r == 0 && i < elf.segments.count; i++) {
		r = elf_segment_at(&elf, i, &s);
		if (r == 0 && s.type == PT_LOAD) {
			*out = s.addr;
			return 0;
		}
	}
	return r < 0 ? r : -ENODATA;
}

static int pe_base(struct view *v, uint64_t *out)
{
	uint8_t at[4], head[24 + 32]; /* signature, file header, and the optional header up to its base */
	unsigned magic;
	int r = view_read(v, 60, at, sizeof(at));

	if (r == 0)
		r = view_read(v, le32(at), head, sizeof(head));
	if (r < 0)
		return r;
	magic = le16(head + 24);
	if (memcmp(head, "PE\0\0", 4) != 0 || (magic != 0x10b && magic != 0x20b))
		return -ENOMSG;
	*out = magic == 0x20b ? le64(head + 24 + 24) : le32(head + 24 + 28);
	return 0;
}

int obj_link_base(struct view *v, uint64_t *out)
{
	uint8_t magic[4];
	int r = view_read(v, 0, magic, sizeof(magic));

	if (r < 0)
		return r;
	if (memcmp(magic, "\177ELF", 4) == 0)
		return elf_base(v, out);
	return memcmp(magic, "MZ", 2) == 0 ? pe_base(v, out) : -ENOMSG;
}

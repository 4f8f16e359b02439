/* ELF: finds the build id among notes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "obj/elf.h"

#include <string.h>

static uint64_t align_up(uint64_t n, unsigned align)
{
	return (n + align - 1) & ~(uint64_t)(align - 1);
}

/* Whether the note's owner is GNU. A note of type 3 of another owner is not a build id: FreeBSD's has an
 * architecture, NetBSD's has PaX flags, and Xen's, which every x86 kernel has, an address. */
static int note_is_gnu(struct elf *elf, uint64_t name, uint64_t n, bool *out)
{
	char owner[4];
	int r;

	*out = false;
	if (n != sizeof(owner))
		return 0;
	r = view_read(elf->v, name, owner, sizeof(owner));
	*out = r == 0 && memcmp(owner, "GNU", 4) == 0;
	return r;
}

int elf_take_id(struct elf *elf, uint64_t off, uint64_t n)
{
	int r;

	if (n > sizeof(elf->id))
		return err_set(elf->e, -EBADMSG, "is broken: its build id has %llu bytes",
			(unsigned long long)n);
	r = view_read(elf->v, off, elf->id, (size_t)n);
	if (r < 0)
		return r;
	elf->id_found = true; /* an empty id, too: it says that the file has no build id */
	elf->id_size = 0;
	for (size_t i = 0; i < n; i++) /* zeros identify no build, either */
		if (elf->id[i])
			elf->id_size = (unsigned)n;
	return 0;
}

/* Searches a range of notes for a build id, and sets elf->id_found. -ENODATA: the notes end outside of the
 * file. */
static int walk_notes(struct elf *elf, struct elf_range at, unsigned align, bool any_owner)
{
	while (at.size >= 12 && elf->notes_left && !elf->id_found) {
		uint64_t name_size, id_size, id_at, whole;
		bool is_id;
		uint8_t h[12];
		int r = view_read(elf->v, at.off, h, sizeof(h));

		if (r < 0)
			return r;
		elf->notes_left--;
		name_size = elf_number(elf, h, 4);
		id_size = elf_number(elf, h + 4, 4);
		id_at = align_up(12 + name_size, align);
		if (id_at + id_size > at.size)
			return 0;
		is_id = elf_number(elf, h + 8, 4) == NT_GNU_BUILD_ID;
		if (is_id && !any_owner)
			r = note_is_gnu(elf, at.off + 12, name_size, &is_id);
		if (r == 0 && is_id)
			r = elf_take_id(elf, at.off + id_at, id_size);
		if (r < 0)
			return r;
		whole = MIN(align_up(id_at + id_size, align), at.size);
		at.off += whole;
		at.size -= whole;
	}
	return 0;
}

/* Notes are padded to 4 bytes, or to 8 if the alignment is 8. Some linkers joined both kinds under an
 * alignment of 8, so a padding of 4 is tried, too. A debug file keeps the segment headers of its program,
 * whose offsets may be wrong for the debug file. So notes outside of the file are not an error. */
int elf_id_in_notes(struct elf *elf, struct elf_range at, uint64_t align, bool any_owner)
{
	int r = 0;

	if (at.off > UINT64_MAX - at.size)
		return 0;
	if (align == 8)
		r = walk_notes(elf, at, 8, any_owner);
	if (r == 0 && !elf->id_found)
		r = walk_notes(elf, at, 4, any_owner);
	return r == -ENODATA ? 0 : r;
}

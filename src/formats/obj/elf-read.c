/* ELF: the file's header, and tables of headers, in either word size and byte order. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/util.h"
#include "formats/obj/elf.h"

#include <string.h>

/* A hostile file may claim four billion segments or sections. Of real files, object files of
 * -ffunction-sections have the most sections, and core files have the most segments. */
#define SEGMENTS_MOST (1u << 17)
#define SECTIONS_MOST (1u << 18)
#define NOTES_MOST 4096u

/* Fields of the file's header. */
static const struct elf_field eh_type = {16, 2, 16, 2}, eh_machine = {18, 2, 18, 2},
	eh_phoff = {28, 4, 32, 8}, eh_shoff = {32, 4, 40, 8}, eh_phentsize = {42, 2, 54, 2},
	eh_phnum = {44, 2, 56, 2}, eh_shentsize = {46, 2, 58, 2}, eh_shnum = {48, 2, 60, 2},
	eh_shstrndx = {50, 2, 62, 2};
/* Fields of the first section header, which has the counts that are too large for the file's header. */
static const struct elf_field sh_size = {20, 4, 32, 8}, sh_link = {24, 4, 40, 4}, sh_info = {28, 4, 44, 4};

uint64_t elf_number(const struct elf *elf, const uint8_t *p, unsigned n)
{
	return load_number(p, n, elf->big);
}

uint64_t elf_field(const struct elf *elf, const uint8_t *p, struct elf_field f)
{
	return elf->is64 ? elf_number(elf, p + f.at64, f.n64) : elf_number(elf, p + f.at32, f.n32);
}

int elf_read(struct elf *elf, const char *what, uint64_t off, void *p, size_t n)
{
	return obj_read(elf->v, what, off, p, n, elf->e);
}

static int table_init(struct elf *elf, struct elf_table *t, uint64_t most)
{
	uint64_t bytes = (uint64_t)t->count * t->entry;

	t->from = t->to = 0;
	if (t->count > most)
		return err_set(
			elf->e, -EBADMSG, "is broken: %s has %u entries", t->what, t->count);
	if (bytes && !view_holds(elf->v, t->off, bytes))
		return obj_cut_off(elf->e, t->what);
	return 0;
}

int elf_table_at(struct elf *elf, struct elf_table *t, uint32_t i, const uint8_t **out)
{
	if (i < t->from || i >= t->to) {
		uint32_t n = MIN(t->count - i, (uint32_t)sizeof(t->room) / t->entry);
		int r = elf_read(elf, t->what, t->off + (uint64_t)i * t->entry, t->room,
			(size_t)n * t->entry);

		if (r == -EAGAIN) /* the whole table will be needed, so ask for all of it at once */
			view_want(elf->v, t->off, (uint64_t)t->count * t->entry);
		if (r < 0)
			return r;
		t->from = i;
		t->to = i + n;
	}
	*out = t->room + (size_t)(i - t->from) * t->entry;
	return 0;
}

/* Counts that do not fit in 16 bits are in the first section header. */
static int elf_extended(struct elf *elf, unsigned sh_entry)
{
	struct elf_table *ph = &elf->segments, *sh = &elf->sections;
	uint8_t first[64];
	int r;

	if (!sh->off || (!sh->count && sh_entry != sh->entry)) {
		sh->count = 0; /* no sections; some strip tools leave half of the fields */
		return 0;
	}
	if (sh->count && elf->names_index != SHN_XINDEX && ph->count != PN_XNUM)
		return 0;
	r = elf_read(elf, sh->what, sh->off, first, sh->entry);
	if (r < 0)
		return r;
	if (!sh->count) {
		uint64_t n = elf_field(elf, first, sh_size);

		sh->count = (uint32_t)MIN(n, UINT32_MAX);
	}
	if (elf->names_index == SHN_XINDEX)
		elf->names_index = (uint32_t)elf_field(elf, first, sh_link);
	if (ph->count == PN_XNUM && elf_field(elf, first, sh_info))
		ph->count = (uint32_t)elf_field(elf, first, sh_info);
	return 0;
}

int elf_open(struct elf *elf, struct view *v, struct err *e)
{
	struct elf_table *ph = &elf->segments, *sh = &elf->sections;
	unsigned ph_entry, sh_entry;
	uint8_t h[64];
	int r;

	memset(elf, 0, sizeof(*elf));
	elf->v = v;
	elf->e = e;
	elf->notes_left = NOTES_MOST;
	r = elf_read(elf, "its header", 0, h, 16);
	if (r < 0)
		return r;
	if ((h[4] != 1 && h[4] != 2) || (h[5] != 1 && h[5] != 2))
		return err_set(
			e, -EBADMSG, "is broken: an ELF file of no known word size or byte order");
	elf->is64 = h[4] == 2;
	elf->big = h[5] == 2;
	r = elf_read(elf, "its header", 0, h, elf->is64 ? 64 : 52);
	if (r < 0)
		return r;
	elf->type = (unsigned)elf_field(elf, h, eh_type);
	elf->machine = (unsigned)elf_field(elf, h, eh_machine);
	elf->names_index = (uint32_t)elf_field(elf, h, eh_shstrndx);
	ph->what = "its segment table";
	ph->off = elf_field(elf, h, eh_phoff);
	ph->count = (uint32_t)elf_field(elf, h, eh_phnum);
	ph->entry = elf->is64 ? 56 : 32;
	sh->what = "its section table";
	sh->off = elf_field(elf, h, eh_shoff);
	sh->count = (uint32_t)elf_field(elf, h, eh_shnum);
	sh->entry = elf->is64 ? 64 : 40;
	ph_entry = (unsigned)elf_field(elf, h, eh_phentsize);
	sh_entry = (unsigned)elf_field(elf, h, eh_shentsize);
	if ((ph->count && ph_entry != ph->entry) || (sh->off && sh->count && sh_entry != sh->entry))
		return err_set(e, -EBADMSG, "is broken: table entries of %u and %u bytes", ph_entry,
			sh_entry);
	r = elf_extended(elf, sh_entry);
	if (r < 0)
		return r;
	r = table_init(elf, ph, SEGMENTS_MOST);
	return r < 0 ? r : table_init(elf, sh, SECTIONS_MOST);
}

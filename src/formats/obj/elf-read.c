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

/* Offset and size of a field in 32-bit and 64-bit files. */
struct elf_field {
	uint8_t at32, n32, at64, n64;
};

/* Fields of the file's header. */
static const struct elf_field eh_type = {16, 2, 16, 2}, eh_machine = {18, 2, 18, 2},
	eh_phoff = {28, 4, 32, 8}, eh_shoff = {32, 4, 40, 8}, eh_phentsize = {42, 2, 54, 2},
	eh_phnum = {44, 2, 56, 2}, eh_shentsize = {46, 2, 58, 2}, eh_shnum = {48, 2, 60, 2},
	eh_shstrndx = {50, 2, 62, 2};
/* Fields of a segment header. */
static const struct elf_field ph_type = {0, 4, 0, 4}, ph_flags = {24, 4, 4, 4}, ph_off = {4, 4, 8, 8},
	ph_vaddr = {8, 4, 16, 8}, ph_filesz = {16, 4, 32, 8}, ph_memsz = {20, 4, 40, 8},
	ph_align = {28, 4, 48, 8};
/* Fields of a section header. The first has the counts that are too large for the file's header. */
static const struct elf_field sh_name = {0, 4, 0, 4}, sh_type = {4, 4, 4, 4}, sh_flags = {8, 4, 8, 8},
	sh_addr = {12, 4, 16, 8}, sh_off = {16, 4, 24, 8}, sh_size = {20, 4, 32, 8}, sh_link = {24, 4, 40, 4},
	sh_info = {28, 4, 44, 4}, sh_align = {32, 4, 48, 8};

uint64_t elf_number(const struct elf *elf, const uint8_t *p, unsigned n)
{
	return load_number(p, n, elf->big);
}

static uint64_t elf_field(const struct elf *elf, const uint8_t *p, struct elf_field f)
{
	return elf->is64 ? load_number(p + f.at64, f.n64, elf->big) : load_number(p + f.at32, f.n32, elf->big);
}

int elf_read(struct elf *elf, const char *what, uint64_t off, void *p, size_t n)
{
	int r = view_read(elf->v, off, p, n);

	return r < 0 ? obj_unread(r, what, elf->e) : 0;
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

static int elf_table_at(struct elf *elf, struct elf_table *t, uint32_t i, const uint8_t **out)
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

int elf_segment_at(struct elf *elf, uint32_t i, struct elf_segment *s)
{
	const uint8_t *p;
	int r = elf_table_at(elf, &elf->segments, i, &p);

	if (r == 0)
		*s = (struct elf_segment){
			.type = (uint32_t)elf_field(elf, p, ph_type),
			.flags = (uint32_t)elf_field(elf, p, ph_flags),
			.off = elf_field(elf, p, ph_off),
			.addr = elf_field(elf, p, ph_vaddr),
			.file_size = elf_field(elf, p, ph_filesz),
			.size = elf_field(elf, p, ph_memsz),
			.align = elf_field(elf, p, ph_align),
		};
	return r;
}

int elf_name_read(struct elf *elf, const struct elf_range *names, uint32_t at, void *p, size_t n)
{
	int r = elf_read(elf, "the table of section names", names->off + at, p, n);

	if (r == -EAGAIN) /* as in elf_table_at() */
		view_want(elf->v, names->off, names->size);
	return r;
}

static int read_section_name(struct elf *elf, struct elf_section *s)
{
	uint64_t left = s->name_at < elf->names.size ? elf->names.size - s->name_at : 0;
	int r;

	if (!left)
		return 0;
	r = elf_name_read(elf, &elf->names, s->name_at, s->name, (size_t)MIN(left, sizeof(s->name)));
	/* A name that fills the buffer is longer than every name that is searched for. */
	if (!memchr(s->name, '\0', sizeof(s->name)))
		s->name[0] = '\0';
	return r;
}

int elf_section_at(struct elf *elf, uint32_t i, struct elf_section *s)
{
	const uint8_t *p;
	int r = elf_table_at(elf, &elf->sections, i, &p);

	if (r < 0)
		return r;
	memset(s, 0, sizeof(*s));
	s->type = (uint32_t)elf_field(elf, p, sh_type);
	s->flags = elf_field(elf, p, sh_flags);
	s->addr = elf_field(elf, p, sh_addr);
	s->link = (uint32_t)elf_field(elf, p, sh_link);
	s->align = elf_field(elf, p, sh_align);
	s->at = (struct elf_range){elf_field(elf, p, sh_off), elf_field(elf, p, sh_size)};
	s->name_at = (uint32_t)elf_field(elf, p, sh_name);
	return read_section_name(elf, s);
}

int elf_sections_at(struct elf *elf, uint32_t i, struct elf_section s[static ELF_SECTIONS_ONCE])
{
	uint32_t n = MIN(elf->sections.count - i, ELF_SECTIONS_ONCE);
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < n; k++)
		r = elf_section_at(elf, i + k, &s[k]);
	return r < 0 ? r : (int)n;
}

/* ELF: finds in segments and sections what a file has: image, symbols, debug information, build id. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/util.h"
#include "formats/obj/elf.h"

#include <string.h>

/* ---- notes ----------------------------------------------------------------------------------- */

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

/* -ENODATA: the id lies outside of the file */
static int elf_take_id(struct elf *elf, uint64_t off, uint64_t n)
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
		name_size = load_number(h, 4, elf->big);
		id_size = load_number(h + 4, 4, elf->big);
		id_at = align_up(12 + name_size, align);
		if (id_at + id_size > at.size)
			return 0;
		is_id = load_number(h + 8, 4, elf->big) == NT_GNU_BUILD_ID;
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
 * whose offsets may be wrong for the debug file. So notes outside of the file are not an error.
 * Searches notes for a build id. 0: elf->id_found says whether one was found. `any_owner`: does not check the
 * owner of a note, because the name of the section already says what it is. */
static int elf_id_in_notes(struct elf *elf, struct elf_range at, uint64_t align, bool any_owner)
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

/* ---- facts ----------------------------------------------------------------------------------- */

/* ---- segments ----------------------------------------------------------------------- */

static int take_segment(struct elf *elf, const struct elf_segment *s)
{
	struct elf_range at = {s->off, s->file_size};

	switch (s->type) {
	case PT_LOAD:
		if (!at.size)
			return 0;
		elf->loads = true;
		/* An end beyond 2^64 counts as the end of the address space. */
		elf->load_end = MAX(elf->load_end,
			at.off > UINT64_MAX - at.size ? UINT64_MAX : at.off + at.size);
		return 0;
	case PT_DYNAMIC:
		elf->dynamic = at;
		return 0;
	case PT_SCE_DYNLIBDATA:
		if (at.size >= SCE_ID_SIZE && !elf->sce.size)
			elf->sce = at;
		return 0;
	case PT_NOTE:
		/* The notes of a core file describe the process, not the file. */
		if (elf->id_found || elf->type == ET_CORE)
			return 0;
		return elf_id_in_notes(elf, at, s->align, false);
	default:
		return 0;
	}
}

int elf_segments(struct elf *elf)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < elf->segments.count; i++) {
		int r = elf_segment_at(elf, i, &s);

		if (r == 0)
			r = take_segment(elf, &s);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- sections ----------------------------------------------------------------------- */

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void take_walk(struct elf *elf, const struct elf_section *s)
{
	static const char *const tables[] = {".debug_aranges", ".debug_abbrev", ".gdb_index", ".debug_names",
		".symtab", ".strtab"};
	struct obj_walk *w = &elf->walk;

	if (strcmp(s->name, ".debug_info") == 0 && !w->units.n)
		w->units = (struct obj_span){s->at.off, s->at.size};
	if (strcmp(s->name, ".gdb_index") == 0 && !elf->index.size)
		elf->index = s->at;
	if (strcmp(s->name, ".debug_names") == 0 && !elf->names_table.size)
		elf->names_table = s->at;
	if (strcmp(s->name, ".debug_aranges") == 0 && !elf->aranges.size)
		elf->aranges = s->at;
	for (unsigned i = 0; i < ARRAY_SIZE(tables) && w->n_tables < OBJ_TABLES_MOST; i++)
		if (strcmp(s->name, tables[i]) == 0)
			w->tables[w->n_tables++] = (struct obj_span){s->at.off, s->at.size};
}

static void take_split(struct elf *elf, const struct elf_section *s)
{
	const struct {
		const char *name;
		struct dwo_range *out;
	} rows[] = {
		{".debug_info.dwo", &elf->split.info},
		{".debug_abbrev.dwo", &elf->split.abbrev},
		{".debug_cu_index", &elf->split.index},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dwo_range *out = rows[i].out;

		if (strcmp(s->name, rows[i].name) != 0 || s->flags & SHF_COMPRESSED)
			continue;
		if (!out->size)
			*out = (struct dwo_range){s->at.off, s->at.size};
		else if (out->off + out->size == s->at.off) /* each type unit of GCC's has a section */
			out->size += s->at.size;
	}
}

/* Records what a section with bytes adds to the file, judged by its name. */
static void take_name(struct elf *elf, const struct elf_section *s)
{
	/* .debug_gdb_scripts is loaded, and survives `strip`, so it does not make a debug file. */
	if (!(s->flags & SHF_ALLOC) && (starts(s->name, ".debug_") || starts(s->name, ".zdebug_")))
		elf->debug = true;
	/* A compressed index is read as a whole, and so are the sections that it refers to. */
	if ((strcmp(s->name, ".gdb_index") == 0 || strcmp(s->name, ".debug_names") == 0) &&
		!(s->flags & SHF_COMPRESSED))
		elf->indexed = true;
	if (!(s->flags & SHF_COMPRESSED))
		take_walk(elf, s);
	if (strcmp(s->name, ".text") == 0 && !elf->text.size && s->at.off)
		elf->text = s->at;
	if (strcmp(s->name, ".note.gnu.build-id") == 0 && !elf->id_section.size)
		elf->id_section = s->at;
	take_split(elf, s);
}

/* Whether the section has bytes. */
static bool take_section(struct elf *elf, const struct elf_section *s)
{
	bool here = s->type != SHT_NOBITS;

	if (s->type == SHT_NULL || !s->at.size)
		return false;
	if (s->flags & SHF_ALLOC) {
		elf->allocates = true;
		if (s->flags & SHF_EXECINSTR && here)
			elf->code_here = true;
		else if (s->flags & SHF_EXECINSTR)
			elf->code_hollow = true;
		else if (here && s->type != SHT_NOTE)
			elf->data_here = true;
	}
	if (!here)
		return false;
	elf->section_end = MAX(elf->section_end,
		s->at.off > UINT64_MAX - s->at.size ? UINT64_MAX : s->at.off + s->at.size);
	if (s->type == SHT_SYMTAB)
		elf->symtab = true;
	if (s->type == SHT_SYMTAB)
		elf->worth.symbols = WORTH_SYMBOLS;
	if (s->type == SHT_DYNSYM)
		elf->worth.symbols = MAX(elf->worth.symbols, WORTH_DYNAMIC);
	take_name(elf, s);
	return true;
}

static int elf_sections(struct elf *elf)
{
	struct elf_section s[ELF_SECTIONS_ONCE];
	const char *names[ELF_SECTIONS_ONCE];
	unsigned n_names = 0;
	int n;

	if (elf->sections.count && elf->names_index) {
		if (elf->names_index >= elf->sections.count)
			return err_set(elf->e, -EBADMSG,
				"is broken: the section names are in section %u of %u", elf->names_index,
				elf->sections.count);
		n = elf_section_at(elf, elf->names_index, s);
		if (n < 0)
			return n;
		if (s->at.off > UINT64_MAX - s->at.size)
			return err_set(
				elf->e, -EBADMSG, "is broken: its section names are outside of the file");
		if (s->type != SHT_NOBITS)
			elf->names = s->at;
	}
	for (uint32_t i = 0; i < elf->sections.count; i += (uint32_t)n) {
		n = elf_sections_at(elf, i, s);
		if (n < 0)
			return n;
		for (int k = 0; k < n; k++)
			if (take_section(elf, &s[k]) && s[k].name[0] == '.')
				names[n_names++] = s[k].name + 1;
		while (n_names)
			obj_worth_section(&elf->worth, names[--n_names]);
	}
	return 0;
}

/* ---- the whole file --------------------------------------------------------------- */

/* Whether the file has the image that a process would map, not only its headers. Debug files keep the
 * headers of removed sections, and old ones even the sizes of segments, so sections are checked before
 * segments. A library may consist of data alone. Every debug file has notes, so notes prove nothing. */
bool elf_has_image(const struct elf *elf)
{
	if (!elf->allocates)
		return elf->loads;
	return elf->code_here || (elf->data_here && !elf->code_hollow);
}

/* Whether all bytes that the headers refer to are present. While the length of the file is unknown, the
 * file counts as whole as soon as these bytes are present. */
static int check_whole(struct elf *elf)
{
	uint64_t end = elf->section_end;

	if (elf_has_image(elf))
		end = MAX(end, elf->load_end);
	return obj_check_whole(elf->v, end, elf->e);
}

/* Searches for a build id that no segment has. Looks in the section of that name, in other notes (a kernel
 * has `.notes`), and in the equivalent on one vendor's game consoles. */
static int find_id_elsewhere(struct elf *elf)
{
	struct elf_section s;
	int r = 0;

	if (elf->type == ET_CORE)
		return 0;
	if (elf->id_section.size)
		r = elf_id_in_notes(elf, elf->id_section, 4, true);
	for (uint32_t i = 0; r == 0 && !elf->id_found && i < elf->sections.count; i++) {
		r = elf_section_at(elf, i, &s);
		if (r == 0 && s.type == SHT_NOTE)
			r = elf_id_in_notes(elf, s.at, s.align, false);
	}
	if (r == 0 && !elf->id_found && elf->sce.size) {
		r = elf_take_id(elf, elf->sce.off, SCE_ID_SIZE);
		r = r == -ENODATA ? 0 : r;
	}
	return r;
}

int elf_facts(struct elf *elf, struct view *v, struct err *e)
{
	int r = elf_open(elf, v, e);

	if (r == 0)
		r = elf_segments(elf);
	if (r == 0)
		r = elf_sections(elf);
	if (r == 0)
		r = check_whole(elf);
	if (r == 0 && !elf->id_found)
		r = find_id_elsewhere(elf);
	elf->worth.known = r == 0;
	return r;
}

/* ---- one section ------------------------------------------------------------------- */

#define NAME_MOST 512 /* bytes of a name; the path of a request has fewer */

/* 1: the section has the name; 0: another; errors as those of elf_read(). */
static int has_name(struct elf *elf, const struct elf_range *names, const struct elf_section *s, const char *name)
{
	size_t n = strlen(name) + 1;
	char is[NAME_MOST];
	int r;

	if (n > sizeof(is) || s->name_at >= names->size || names->size - s->name_at < n)
		return 0;
	r = elf_name_read(elf, names, s->name_at, is, n);
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

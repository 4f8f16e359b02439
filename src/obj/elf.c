/* ELF: executables, libraries, and the debug files that were split from them. The identity is
 * the build id, a note; without one, debug ids go by the code's first bytes. Either word size,
 * either byte order, and no byte is taken for granted: a read that must wait answers -EAGAIN
 * all the way up, and then the whole probe runs again. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obj/obj.h"
#include "base/hash.h"
#include "base/little.h"
#include "base/util.h"
#include "obj/dwo.h"

#include <stdio.h>
#include <string.h>

/* A hostile file may claim four billion of each. Object files of -ffunction-sections have the
 * most sections, and core files the most segments, of what is real. */
#define SEGMENTS_MOST (1u << 17)
#define SECTIONS_MOST (1u << 18)
#define NOTES_MOST 4096u
#define DYNAMIC_MOST 4096u

#define BUILD_ID_MOST (CODE_ID_MAX / 2)
#define SCE_ID_SIZE 20
#define TEXT_HASHED 4096

enum {
	ET_REL = 1, ET_EXEC = 2, ET_DYN = 3, ET_CORE = 4,
	ET_SCE_EXEC = 0xfe00, ET_SCE_DYNEXEC = 0xfe10, ET_SCE_DYNAMIC = 0xfe18,
	PT_LOAD = 1, PT_DYNAMIC = 2, PT_NOTE = 4, PT_SCE_DYNLIBDATA = 0x61000000,
	PN_XNUM = 0xffff, PF_X = 1,
	SHT_NULL = 0, SHT_SYMTAB = 2, SHT_NOTE = 7, SHT_NOBITS = 8, SHT_DYNSYM = 11,
	SHN_XINDEX = 0xffff,
	SHF_ALLOC = 2, SHF_EXECINSTR = 4, SHF_COMPRESSED = 0x800,
	NT_GNU_BUILD_ID = 3,
	DT_FLAGS_1 = 0x6ffffffb, DF_1_PIE = 0x08000000
};

/* Where the two word sizes keep a field. */
struct field {
	uint8_t at32, n32, at64, n64;
};

/* Of the file's header. */
static const struct field eh_type = {16, 2, 16, 2}, eh_machine = {18, 2, 18, 2},
	eh_phoff = {28, 4, 32, 8}, eh_shoff = {32, 4, 40, 8}, eh_phentsize = {42, 2, 54, 2},
	eh_phnum = {44, 2, 56, 2}, eh_shentsize = {46, 2, 58, 2}, eh_shnum = {48, 2, 60, 2},
	eh_shstrndx = {50, 2, 62, 2};
/* Of a segment's. */
static const struct field ph_type = {0, 4, 0, 4}, ph_off = {4, 4, 8, 8}, ph_filesz = {16, 4, 32, 8},
	ph_flags = {24, 4, 4, 4}, ph_align = {28, 4, 48, 8};
/* Of a section's. */
static const struct field sh_name = {0, 4, 0, 4}, sh_type = {4, 4, 4, 4}, sh_flags = {8, 4, 8, 8},
	sh_off = {16, 4, 24, 8}, sh_size = {20, 4, 32, 8}, sh_link = {24, 4, 40, 4},
	sh_info = {28, 4, 44, 4}, sh_align = {32, 4, 48, 8};

/* Headers of one kind, read some dozens at a time. */
struct table {
	const char *what;
	uint64_t off;
	uint32_t count, entry;
	uint32_t from, to; /* which are in `room` */
	uint8_t room[4096];
};

struct range {
	uint64_t off, size;
};

struct section {
	uint32_t type, name_at;
	uint64_t flags, align;
	struct range at;
	char name[24]; /* longer names are none that matter here */
};

struct elf {
	struct view *v;
	struct err *e;
	bool is64, big;
	unsigned type, machine;
	uint32_t names_index; /* which section has the names of sections */
	struct table segments, sections;

	/* what the segments say */
	struct range dynamic, sce;
	uint64_t load_end; /* where the last loaded byte ends */
	bool loads;	   /* some bytes of the file are loaded */

	/* what the sections say */
	struct range names, text, id_section;
	struct dwo_sections split; /* what split debug information has */
	uint64_t section_end;
	bool allocates;	      /* some section is part of the image, with bytes or without */
	bool code_here;	      /* instructions, with their bytes */
	bool code_hollow;     /* instructions, without their bytes */
	bool data_here;	      /* another part of the image, notes apart */
	bool symtab, debug;   /* what `strip` takes away */
	bool indexed;	      /* who reads its debug information finds it by an index */
	struct range index, names_table, aranges; /* what lists units */
	struct obj_walk walk;
	unsigned features;

	bool id_found;
	unsigned id_size;
	uint8_t id[BUILD_ID_MOST];
	unsigned notes_left;
};

/* ---- reading ------------------------------------------------------------------------ */

static uint64_t number(const struct elf *elf, const uint8_t *p, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value = value << 8 | p[elf->big ? i : n - 1 - i];
	return value;
}

static uint64_t field_of(const struct elf *elf, const uint8_t *p, struct field f)
{
	return elf->is64 ? number(elf, p + f.at64, f.n64) : number(elf, p + f.at32, f.n32);
}

static int elf_read(struct elf *elf, const char *what, uint64_t off, void *p, size_t n)
{
	return obj_read(elf->v, what, off, p, n, elf->e);
}

static int table_init(struct elf *elf, struct table *t, uint64_t most)
{
	uint64_t bytes = (uint64_t)t->count * t->entry;

	t->from = t->to = 0;
	if (t->count > most)
		return err_set(
			elf->e, -EBADMSG, "is broken: its %s has %u entries", t->what, t->count);
	if (bytes && !view_holds(elf->v, t->off, bytes))
		return err_set(elf->e, -EBADMSG, "is cut short: its %s ends behind the file's end",
			t->what);
	return 0;
}

static int table_at(struct elf *elf, struct table *t, uint32_t i, const uint8_t **out)
{
	if (i < t->from || i >= t->to) {
		uint32_t n = MIN(t->count - i, (uint32_t)sizeof(t->room) / t->entry);
		int r = elf_read(elf, t->what, t->off + (uint64_t)i * t->entry, t->room,
			(size_t)n * t->entry);

		if (r == -EAGAIN) { /* all of it will be wanted, so ask once */
			elf->v->want_off = t->off;
			elf->v->want_len = (uint64_t)t->count * t->entry;
		}
		if (r < 0)
			return r;
		t->from = i;
		t->to = i + n;
	}
	*out = t->room + (size_t)(i - t->from) * t->entry;
	return 0;
}

/* Counts that do not fit the header's 16 bits stand in the first section header. */
static int elf_extended(struct elf *elf, unsigned sh_entry)
{
	struct table *ph = &elf->segments, *sh = &elf->sections;
	uint8_t first[64];
	int r;

	if (!sh->off || (!sh->count && sh_entry != sh->entry)) {
		sh->count = 0; /* none; some strippers leave half of the fields */
		return 0;
	}
	if (sh->count && elf->names_index != SHN_XINDEX && ph->count != PN_XNUM)
		return 0;
	r = elf_read(elf, sh->what, sh->off, first, sh->entry);
	if (r < 0)
		return r;
	if (!sh->count) {
		uint64_t n = field_of(elf, first, sh_size);

		sh->count = (uint32_t)MIN(n, UINT32_MAX);
	}
	if (elf->names_index == SHN_XINDEX)
		elf->names_index = (uint32_t)field_of(elf, first, sh_link);
	if (ph->count == PN_XNUM && field_of(elf, first, sh_info))
		ph->count = (uint32_t)field_of(elf, first, sh_info);
	return 0;
}

static int elf_open(struct elf *elf, struct view *v, struct err *e)
{
	struct table *ph = &elf->segments, *sh = &elf->sections;
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
	elf->type = (unsigned)field_of(elf, h, eh_type);
	elf->machine = (unsigned)field_of(elf, h, eh_machine);
	elf->names_index = (uint32_t)field_of(elf, h, eh_shstrndx);
	ph->what = "segment table";
	ph->off = field_of(elf, h, eh_phoff);
	ph->count = (uint32_t)field_of(elf, h, eh_phnum);
	ph->entry = elf->is64 ? 56 : 32;
	sh->what = "section table";
	sh->off = field_of(elf, h, eh_shoff);
	sh->count = (uint32_t)field_of(elf, h, eh_shnum);
	sh->entry = elf->is64 ? 64 : 40;
	ph_entry = (unsigned)field_of(elf, h, eh_phentsize);
	sh_entry = (unsigned)field_of(elf, h, eh_shentsize);
	if ((ph->count && ph_entry != ph->entry) || (sh->off && sh->count && sh_entry != sh->entry))
		return err_set(e, -EBADMSG, "is broken: table entries of %u and %u bytes", ph_entry,
			sh_entry);
	r = elf_extended(elf, sh_entry);
	if (r < 0)
		return r;
	r = table_init(elf, ph, SEGMENTS_MOST);
	return r < 0 ? r : table_init(elf, sh, SECTIONS_MOST);
}

/* ---- notes -------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t n, unsigned align)
{
	return (n + align - 1) & ~(uint64_t)(align - 1);
}

/* Whether the note's owner is GNU. What other owners mean by type 3 is no build id: FreeBSD an
 * architecture, NetBSD its PaX flags, Xen an address (that one is in every x86 kernel). */
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

static int take_id(struct elf *elf, uint64_t off, uint64_t n)
{
	int r;

	if (n > sizeof(elf->id))
		return err_set(elf->e, -EBADMSG, "is broken: its build id has %llu bytes",
			(unsigned long long)n);
	r = view_read(elf->v, off, elf->id, (size_t)n);
	if (r < 0)
		return r;
	elf->id_found = true; /* of no byte too: then the file says that it has none */
	elf->id_size = (unsigned)n;
	return 0;
}

/* Looks for a build id in a run of notes; elf->id_found says. -ENODATA: it leaves the file. */
static int walk_notes(struct elf *elf, struct range at, unsigned align, bool any_owner)
{
	while (at.size >= 12 && elf->notes_left && !elf->id_found) {
		uint64_t name_size, id_size, id_at, whole;
		bool is_id;
		uint8_t h[12];
		int r = view_read(elf->v, at.off, h, sizeof(h));

		if (r < 0)
			return r;
		elf->notes_left--;
		name_size = number(elf, h, 4);
		id_size = number(elf, h + 4, 4);
		id_at = align_up(12 + name_size, align);
		if (id_at + id_size > at.size)
			return 0;
		is_id = number(elf, h + 8, 4) == NT_GNU_BUILD_ID;
		if (is_id && !any_owner)
			r = note_is_gnu(elf, at.off + 12, name_size, &is_id);
		if (r == 0 && is_id)
			r = take_id(elf, at.off + id_at, id_size);
		if (r < 0)
			return r;
		whole = MIN(align_up(id_at + id_size, align), at.size);
		at.off += whole;
		at.size -= whole;
	}
	return 0;
}

/* Notes are padded to 4 bytes, or to 8 where the alignment says so; but linkers that joined both
 * kinds said 8 of all. A debug file keeps the segments of its program, whose offsets need not
 * mean anything here: notes that are not in the file are no error. */
static int find_in_notes(struct elf *elf, struct range at, uint64_t align, bool any_owner)
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

/* ---- segments ----------------------------------------------------------------------- */

static int take_segment(struct elf *elf, const uint8_t *p)
{
	struct range at = {field_of(elf, p, ph_off), field_of(elf, p, ph_filesz)};

	switch (field_of(elf, p, ph_type)) {
	case PT_LOAD:
		if (!at.size)
			return 0;
		elf->loads = true;
		/* An end behind 2^64 is as far outside as any. */
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
		/* A core file's notes are of the process, not of the file. */
		if (elf->id_found || elf->type == ET_CORE)
			return 0;
		return find_in_notes(elf, at, field_of(elf, p, ph_align), false);
	default:
		return 0;
	}
}

static int elf_segments(struct elf *elf)
{
	for (uint32_t i = 0; i < elf->segments.count; i++) {
		const uint8_t *p;
		int r = table_at(elf, &elf->segments, i, &p);

		if (r == 0)
			r = take_segment(elf, p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- sections ----------------------------------------------------------------------- */

static int section_at(struct elf *elf, uint32_t i, struct section *s)
{
	const uint8_t *p;
	int r = table_at(elf, &elf->sections, i, &p);

	if (r < 0)
		return r;
	memset(s, 0, sizeof(*s));
	s->type = (uint32_t)field_of(elf, p, sh_type);
	s->flags = field_of(elf, p, sh_flags);
	s->align = field_of(elf, p, sh_align);
	s->at = (struct range){field_of(elf, p, sh_off), field_of(elf, p, sh_size)};
	s->name_at = (uint32_t)field_of(elf, p, sh_name);
	return 0;
}

static int section_name(struct elf *elf, struct section *s)
{
	uint64_t left = s->name_at < elf->names.size ? elf->names.size - s->name_at : 0;
	int r;

	if (!left)
		return 0;
	r = elf_read(elf, "the table of section names", elf->names.off + s->name_at, s->name,
		(size_t)MIN(left, sizeof(s->name)));
	/* One that fills the room is longer than all that are looked for. */
	if (!memchr(s->name, '\0', sizeof(s->name)))
		s->name[0] = '\0';
	return r;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void take_walk(struct elf *elf, const struct section *s)
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

static void take_split(struct elf *elf, const struct section *s)
{
	const struct {
		const char *name;
		struct dwo_range *out;
	} rows[] = {
		{".debug_info.dwo", &elf->split.info},
		{".debug_abbrev.dwo", &elf->split.abbrev},
		{".debug_cu_index", &elf->split.index},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].out->size && strcmp(s->name, rows[i].name) == 0 && !(s->flags & SHF_COMPRESSED))
			*rows[i].out = (struct dwo_range){s->at.off, s->at.size};
}

/* What a section with bytes adds to the file by its name. */
static void take_name(struct elf *elf, const struct section *s)
{
	static const struct {
		const char *name;
		unsigned feature;
	} rows[] = {
		{".debug_info", OBJ_HAS_DEBUG},	 {".zdebug_info", OBJ_HAS_DEBUG},
		{".debug_info.dwo", OBJ_HAS_DEBUG}, {".eh_frame", OBJ_HAS_UNWIND},
		{".debug_frame", OBJ_HAS_UNWIND},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(s->name, rows[i].name) == 0)
			elf->features |= rows[i].feature;
	/* .debug_gdb_scripts is loaded, and survives `strip`: it makes no debug file. */
	if (!(s->flags & SHF_ALLOC) && (starts(s->name, ".debug_") || starts(s->name, ".zdebug_")))
		elf->debug = true;
	/* A compressed one is read as a whole, and so is all that it leads to. */
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

static int take_section(struct elf *elf, struct section *s)
{
	bool here = s->type != SHT_NOBITS;
	int r;

	if (s->type == SHT_NULL || !s->at.size)
		return 0;
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
		return 0;
	elf->section_end = MAX(elf->section_end,
		s->at.off > UINT64_MAX - s->at.size ? UINT64_MAX : s->at.off + s->at.size);
	if (s->type == SHT_SYMTAB)
		elf->symtab = true;
	if (s->type == SHT_SYMTAB || s->type == SHT_DYNSYM)
		elf->features |= OBJ_HAS_SYMTAB;
	r = section_name(elf, s);
	if (r == 0)
		take_name(elf, s);
	return r;
}

static int elf_sections(struct elf *elf)
{
	struct section s;
	int r;

	if (elf->sections.count && elf->names_index) {
		if (elf->names_index >= elf->sections.count)
			return err_set(elf->e, -EBADMSG,
				"is broken: section %u of %u has the names", elf->names_index,
				elf->sections.count);
		r = section_at(elf, elf->names_index, &s);
		if (r < 0)
			return r;
		if (s.at.off > UINT64_MAX - s.at.size)
			return err_set(
				elf->e, -EBADMSG, "is broken: its section names are nowhere");
		if (s.type != SHT_NOBITS)
			elf->names = s.at;
	}
	for (uint32_t i = 0; i < elf->sections.count; i++) {
		r = section_at(elf, i, &s);
		if (r == 0)
			r = take_section(elf, &s);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- what it all means -------------------------------------------------------------- */

/* The image that a process would map, not a husk of it. Debug files keep the headers of what
 * they lost, and old ones even its segment sizes, so sections are asked before segments. A
 * library may be data alone; notes stay in every debug file, and say nothing. */
static bool has_image(const struct elf *elf)
{
	if (!elf->allocates)
		return elf->loads;
	return elf->code_here || (elf->data_here && !elf->code_hollow);
}

/* Whether the bytes that the headers speak of are all there. While nobody knows how long the
 * file will be, it is whole as soon as they are. */
static int check_whole(struct elf *elf)
{
	struct view *v = elf->v;
	uint64_t end = elf->section_end;

	if (has_image(elf))
		end = MAX(end, elf->load_end);
	if (v->size != VIEW_UNKNOWN && end > v->size)
		return err_set(elf->e, -EBADMSG, "is cut short: it has %llu bytes, and needs %llu",
			(unsigned long long)v->size, (unsigned long long)end);
	if (v->size == VIEW_UNKNOWN && end > v->have) {
		v->want_off = v->have;
		v->want_len = end - v->have;
		return -EAGAIN;
	}
	return 0;
}

/* Where the segments had no build id: the section of that name, other notes (a kernel's are in
 * `.notes`), and what the consoles of one maker have instead. */
static int find_id_elsewhere(struct elf *elf)
{
	struct section s;
	int r = 0;

	if (elf->type == ET_CORE)
		return 0;
	if (elf->id_section.size)
		r = find_in_notes(elf, elf->id_section, 4, true);
	for (uint32_t i = 0; r == 0 && !elf->id_found && i < elf->sections.count; i++) {
		r = section_at(elf, i, &s);
		if (r == 0 && s.type == SHT_NOTE)
			r = find_in_notes(elf, s.at, s.align, false);
	}
	if (r == 0 && !elf->id_found && elf->sce.size) {
		r = take_id(elf, elf->sce.off, SCE_ID_SIZE);
		r = r == -ENODATA ? 0 : r;
	}
	return r;
}

/* What Breakpad made of code without a build id. It is no key of ours: programs that begin
 * alike share it, and the file split from the program does not. */
static int hash_text(struct elf *elf, struct debug_id *out)
{
	uint8_t text[TEXT_HASHED], hash[16] = {0};
	size_t n = (size_t)MIN(elf->text.size, sizeof(text));
	int r;

	if (!n)
		return 0;
	r = elf_read(elf, "its code", elf->text.off, text, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		hash[i % 16] ^= text[i];
	debug_id_from_build_id(out, hash, sizeof(hash), elf->big);
	return 0;
}

static void module_of(const struct elf *elf, struct module *m)
{
	memset(m, 0, sizeof(*m));
	m->object = OBJECT_ELF;
	if (!elf->id_found || !elf->id_size)
		return;
	hex_print(elf->id, elf->id_size, m->code_id);
	debug_id_from_build_id(&m->debug_id, elf->id, elf->id_size, elf->big);
}

/* Whether a position-independent file is a program: the linker says so since 2015. An
 * interpreter does not tell, libc.so.6 has one. */
static int is_pie(struct elf *elf, bool *out)
{
	uint64_t entry = elf->is64 ? 16 : 8, half = entry / 2;
	uint64_t n = MIN(elf->dynamic.size / entry, DYNAMIC_MOST);

	*out = false;
	for (uint64_t i = 0; i < n && elf->dynamic.off <= UINT64_MAX - (i + 1) * entry; i++) {
		uint8_t p[16];
		int r = view_read(elf->v, elf->dynamic.off + i * entry, p, (size_t)entry);

		if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (!number(elf, p, (unsigned)half))
			return 0;
		if (number(elf, p, (unsigned)half) == DT_FLAGS_1) {
			*out = number(elf, p + half, (unsigned)half) & DF_1_PIE;
			return 0;
		}
	}
	return 0;
}

/* Other tools call a program without an interpreter a debug file, and so file every static
 * program under the wrong name. A debug file is one whose code is announced and not there, or
 * one that has symbols and nothing else. */
static int kind_of(struct elf *elf, enum obj_kind *out)
{
	bool pie;
	int r;

	if (!has_image(elf) && elf->type != ET_CORE &&
		(elf->code_hollow || (elf->type != ET_REL && (elf->symtab || elf->debug)))) {
		*out = OBJ_DEBUG;
		return 0;
	}
	switch (elf->type) {
	case ET_REL:
		*out = OBJ_OBJECT;
		return 0;
	case ET_EXEC:
	case ET_SCE_EXEC:
	case ET_SCE_DYNEXEC:
		*out = has_image(elf) ? OBJ_EXECUTABLE : OBJ_OTHER;
		return 0;
	case ET_DYN:
	case ET_SCE_DYNAMIC:
		r = is_pie(elf, &pie);
		if (r < 0)
			return r;
		*out = !has_image(elf) ? OBJ_OTHER : pie ? OBJ_EXECUTABLE : OBJ_LIBRARY;
		return 0;
	default:
		*out = OBJ_OTHER;
		return 0;
	}
}

/* The words are those of Sentry's tools, which know no others: the rest is "unknown". */
static const char *arch_of(const struct elf *elf)
{
	switch (elf->machine) {
	case 3: return "x86";
	case 8:
	case 10: return elf->is64 ? "mips64" : "mips";
	case 20: return "ppc";
	case 21: return "ppc64";
	case 40: return "arm";
	case 62: return "x86_64";
	case 183: return "arm64";
	default: return "unknown";
	}
}

/* An unstripped program is its own debug file too. The dynamic symbols do not count for that:
 * `strip` leaves them. */
static void set_types(const struct elf *elf, struct obj_slice *s)
{
	if (s->kind == OBJ_OTHER)
		return;
	if (s->features & OBJ_HAS_CODE)
		s->types[s->n_types++] = FILETYPE_ELF_CODE;
	if (s->kind == OBJ_DEBUG || elf->symtab || elf->debug)
		s->types[s->n_types++] = FILETYPE_ELF_DEBUG;
}

/* What was split off a program has no build id of its own; a unit in it has an id. */
static int find_split(struct elf *elf, struct obj_slice *s)
{
	uint64_t id = 0;
	int r;

	if (elf->id_found || (has_image(elf) && elf->type != ET_REL))
		return 0;
	elf->split.big = elf->big;
	r = dwo_id_of(elf->v, &elf->split, &id);
	if (r < 0 || !id)
		return r;
	snprintf(s->module.code_id, sizeof(s->module.code_id), "%016llx", (unsigned long long)id);
	s->module.debug_id = (struct debug_id){0};
	s->package = elf->split.index.size;
	s->types[0] = FILETYPE_ELF_DWO;
	s->n_types = 1;
	return 0;
}

static int elf_facts(struct elf *elf, struct view *v, struct err *e)
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
	return r;
}

static int elf_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "elf", .size = v->size};
	struct elf elf;
	int r;

	if (index)
		return -ENOENT;
	r = elf_facts(&elf, v, e);
	if (r < 0)
		return r;
	module_of(&elf, &s.module);
	if (!elf.id_found && elf.type != ET_CORE)
		r = hash_text(&elf, &s.module.debug_id);
	if (r == 0)
		r = kind_of(&elf, &s.kind);
	if (r < 0)
		return r;
	s.arch = arch_of(&elf);
	s.big_endian = elf.big;
	s.features = elf.features;
	if (s.kind != OBJ_OTHER && has_image(&elf))
		s.features |= OBJ_HAS_CODE;
	set_types(&elf, &s);
	r = find_split(&elf, &s);
	if (r == 0)
		*out = s;
	return r;
}

/* A build id that a segment has stands near the front, and nothing behind it can overrule it. */
static int elf_early(struct view *v, struct module *out)
{
	struct elf elf;
	int r = elf_open(&elf, v, NULL);

	if (r == 0)
		r = elf_segments(&elf);
	if (r < 0)
		return r;
	if (!elf.id_found || !elf.id_size)
		return -ENOENT;
	module_of(&elf, out);
	return 0;
}

/* Debug files keep the segments of what they lost, of size 0; those that keep their sizes, too, look
 * like programs, and of programs only the sections tell whether they have debug information. */
static bool elf_promises(struct view *v, enum filetype t)
{
	bool code = false, hollow = false;
	struct elf elf;

	if (elf_open(&elf, v, NULL) < 0 || v->size == VIEW_UNKNOWN || (elf.type != ET_EXEC && elf.type != ET_DYN))
		return false;
	for (uint32_t i = 0; i < elf.segments.count; i++) {
		const uint8_t *p;
		uint64_t n;

		if (table_at(&elf, &elf.segments, i, &p) < 0)
			return false;
		n = field_of(&elf, p, ph_filesz);
		if (field_of(&elf, p, ph_type) != PT_LOAD || !(field_of(&elf, p, ph_flags) & PF_X))
			continue;
		*(n ? &code : &hollow) = true;
		if (n && !view_holds(v, field_of(&elf, p, ph_off), n))
			return false; /* it is cut short */
	}
	return t == FILETYPE_ELF_CODE ? code : hollow && !code;
}

/* Debuggers read nearly all of debug information that has no index. */
static int elf_sparse(struct view *v, enum filetype t)
{
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0)
		return r == -EAGAIN ? r : 0;
	return elf.indexed || (has_image(&elf) && (t == FILETYPE_ELF_CODE || !elf.debug));
}

/* ---- where its readers walk --------------------------------------------------------- */

static int elf_walk(struct view *v, struct obj_walk *out)
{
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0)
		return r == -EAGAIN ? r : -ENOENT;
	*out = elf.walk;
	if (!elf.index.size && !elf.names_table.size && !elf.aranges.size)
		out->units.n = 0;
	return 0;
}

/* .gdb_index, version 4 to 9, always with its low byte first: where its lists begin, then of each unit
 * where in .debug_info it is, and how long. All of DWARF's 32-bit form only. */
#define INDEX_HEAD 12
#define INDEX_UNIT 16

struct head_list {
	uint64_t *heads;
	unsigned n, most;
};

static void add_head(const struct elf *elf, struct head_list *l, uint64_t off)
{
	if (off < elf->walk.units.n && l->n < l->most)
		l->heads[l->n++] = elf->walk.units.off + off;
}

/* n numbers of `width` bytes, `step` bytes from each other. */
static int read_heads(struct elf *elf, bool big, uint64_t at, unsigned n, unsigned step, unsigned width,
	struct head_list *l)
{
	_cleanup_free_ uint8_t *p = malloc((size_t)n * step + 1);
	int r = p ? elf_read(elf, "its index", at, p, (size_t)n * step) : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		const uint8_t *q = p + (size_t)i * step;

		add_head(elf, l, big ? number(elf, q, width) : width == 8 ? le64(q) : le32(q));
	}
	return r;
}

static int heads_by_index(struct elf *elf, struct head_list *l)
{
	uint8_t h[INDEX_HEAD];
	uint32_t from, to;
	int r = elf_read(elf, "its index", elf->index.off, h, sizeof(h));

	if (r < 0)
		return r;
	from = le32(h + 4);
	to = le32(h + 8);
	if (le32(h) < 4 || le32(h) > 9 || from < INDEX_HEAD || to < from || to > elf->index.size)
		return -ENOENT;
	return read_heads(elf, false, elf->index.off + from, MIN((to - from) / INDEX_UNIT, l->most), INDEX_UNIT, 8, l);
}

/* .debug_names: the first table of it, which is the only one in what gdb and linkers write. */
#define NAMES_HEAD 36

static int heads_by_names(struct elf *elf, struct head_list *l)
{
	uint8_t h[NAMES_HEAD];
	uint64_t length, units, text, from;
	int r = elf_read(elf, "its index", elf->names_table.off, h, sizeof(h));

	if (r < 0)
		return r;
	length = number(elf, h, 4);
	units = number(elf, h + 8, 4);
	text = number(elf, h + 32, 4);
	from = NAMES_HEAD + text + (-text & 3);
	if (length > elf->names_table.size || number(elf, h + 4, 2) != 5 || units > length / 4 ||
		from + units * 4 > length + 4)
		return -ENOENT;
	return read_heads(elf, elf->big, elf->names_table.off + from, (unsigned)MIN(units, (uint64_t)l->most), 4, 4, l);
}

/* .debug_aranges: of each unit with code how long its addresses are, and where it is. */
#define ARANGES_HEAD 10
#define ARANGES_MOST (1u << 20)

static int heads_by_aranges(struct elf *elf, struct head_list *l)
{
	size_t n = (size_t)MIN(elf->aranges.size, (uint64_t)ARANGES_MOST), at = 0;
	_cleanup_free_ uint8_t *p = malloc(n + 1);
	int r = p ? elf_read(elf, "its addresses", elf->aranges.off, p, n) : -ENOMEM;

	while (r == 0 && n - at >= ARANGES_HEAD) {
		uint64_t length = number(elf, p + at, 4);

		if (number(elf, p + at + 4, 2) != 2 || length < ARANGES_HEAD - 4)
			return -ENOENT;
		add_head(elf, l, number(elf, p + at + 6, 4));
		if (length > n - at - 4)
			break;
		at += (size_t)length + 4;
	}
	return r;
}

static int elf_heads(struct view *v, uint64_t *heads, unsigned most)
{
	struct head_list l = {heads, 0, most};
	struct elf elf;
	int r = elf_facts(&elf, v, NULL);

	if (r < 0 || !elf.walk.units.n)
		return r == -EAGAIN ? r : -ENOENT;
	r = elf.index.size >= INDEX_HEAD ? heads_by_index(&elf, &l) : -ENOENT;
	if (r < 0 && r != -EAGAIN && elf.names_table.size >= NAMES_HEAD)
		r = heads_by_names(&elf, &l);
	if (r < 0 && r != -EAGAIN && elf.aranges.size >= ARANGES_HEAD)
		r = heads_by_aranges(&elf, &l);
	return r == 0 ? (int)l.n : r == -EAGAIN ? r : -ENOENT;
}

const struct obj_format obj_elf = {
	.name = "elf",
	.magic = "\177ELF",
	.magic_len = 4,
	.serves = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_ELF_DWO},
	.probe = elf_probe,
	.early = elf_early,
	.promises = elf_promises,
	.sparse = elf_sparse,
	.walk = elf_walk,
	.heads = elf_heads,
};

/* What the files of the ELF reader share: elf-read.c, elf-facts.c, elf.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/obj/dwo.h"
#include "formats/obj/private.h"

#define BUILD_ID_MOST (CODE_ID_MAX / 2)
#define SCE_ID_SIZE 20
#define ELF_SECTIONS_ONCE 64u

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

/* Headers of one kind, read some dozens at a time. */
struct elf_table {
	const char *what; /* the table's name in messages */
	uint64_t off;
	uint32_t count, entry; /* number of headers; bytes of each */
	uint32_t from, to; /* the headers that are in `room`: from <= index < to */
	uint8_t room[4096];
};

struct elf_range {
	uint64_t off, size;
};

struct elf_segment {
	uint32_t type, flags;
	uint64_t off, addr, file_size, size, align;
};

struct elf_section {
	uint32_t type, name_at, link;
	uint64_t flags, addr, align;
	struct elf_range at;
	char name[24]; /* "": elf->names is not set, or the name is longer, which does not matter here */
};

struct elf {
	struct view *v;
	struct err *e;
	bool is64, big;
	unsigned type, machine;
	uint32_t names_index; /* index of the section with the names of sections */
	struct elf_table segments, sections;

	/* found in the segments */
	struct elf_range dynamic, sce;
	uint64_t load_end; /* offset behind the last loaded byte */
	bool loads;	   /* some bytes of the file are loaded */

	/* found in the sections */
	struct elf_range names, text, id_section;
	struct dwo_sections split; /* the sections of split debug information */
	uint64_t section_end;
	bool allocates;	      /* some section is part of the image, with bytes or without */
	bool code_here;	      /* a section of instructions, with its bytes */
	bool code_hollow;     /* a section of instructions, without its bytes */
	bool data_here;	      /* another section of the image with bytes, except notes */
	bool symtab, debug;   /* what `strip` removes */
	bool indexed;	      /* the debug information has an index: debuggers read parts of it */
	struct elf_range index, names_table, aranges; /* the tables that list units */
	struct obj_walk walk;
	struct worth worth;

	bool id_found;
	unsigned id_size;
	uint8_t id[BUILD_ID_MOST];
	unsigned notes_left; /* how many more notes may be read */
};

/* ---- elf-read.c: the header, and tables of headers ---------------------------------- */

uint64_t elf_number(const struct elf *elf, const uint8_t *p, unsigned n); /* n bytes in the file's byte order */
int elf_read(struct elf *elf, const char *what, uint64_t off, void *p, size_t n); /* as obj_read() */
/* Reads the file's header. 0; -EBADMSG, -EAGAIN, errors of the disk. */
int elf_open(struct elf *elf, struct view *v, struct err *e);
/* Header `i` of a segment or section, which has a name if elf->names is set. Errors as those of elf_open(). */
int elf_segment_at(struct elf *elf, uint32_t i, struct elf_segment *s);
int elf_section_at(struct elf *elf, uint32_t i, struct elf_section *s);
/* Headers of the next sections from `i` on: their number, at most ELF_SECTIONS_ONCE; errors as above. */
int elf_sections_at(struct elf *elf, uint32_t i, struct elf_section s[static ELF_SECTIONS_ONCE]);
/* Reads n bytes of the table of section names from offset `at` on. Errors as those of elf_open(). */
int elf_name_read(struct elf *elf, const struct elf_range *names, uint32_t at, void *p, size_t n);

/* ---- elf-facts.c: what segments and sections say ------------------------------------ */

int elf_segments(struct elf *elf); /* only the segments: enough for a build id near the front */
int elf_facts(struct elf *elf, struct view *v, struct err *e); /* elf_open(), segments and sections */
bool elf_has_image(const struct elf *elf);

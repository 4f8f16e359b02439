/* Finds the sections of an object file that is in memory: ELF, thin Mach-O, COFF, PE and WebAssembly. Reads
 * only headers, within the bounds of the file. Nothing is allocated or kept. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"

#include <stdbool.h>

enum image_kind { IMAGE_ELF, IMAGE_MACHO, IMAGE_COFF, IMAGE_WASM };

struct image {
	enum image_kind kind;
	struct span file;
	struct span map; /* the caller's map_file() of the file: pages are given back once read; n 0: other memory */
	bool is64, big, swap;
	unsigned type;	  /* the type in an ELF header */
	unsigned machine, submachine; /* the codes that the format uses for processors */
	uint32_t n_sections;
	uint64_t at; /* offset of the section headers; Mach-O: of the load commands */
	uint32_t entry, n_commands, commands_size;
	uint64_t segments_at; /* ELF's program headers */
	uint32_t segment_entry, n_segments;
	struct span names; /* ELF's section names, COFF's string table */
	const uint64_t *placed; /* ELF: the address that image_place() gave each section; NULL: no address */
	bool linked;	   /* COFF, WASM: the file is a program or a library */
	struct span debug; /* WASM: another file, in which image_find() looks next; n 0: none */
	uint64_t optional; /* PE: offset of the optional header */
	uint32_t optional_size;
};

struct image_section {
	const char *name; /* name_len bytes, not always followed by a NUL */
	size_t name_len;
	uint32_t index;
	uint32_t type, link, info; /* ELF only; WASM: type */
	uint64_t flags, addr, size, entry;
	uint64_t align;
	struct span bytes; /* n is 0: the file has no bytes of this section */
};

/* Opens an object file. 0; -ENOMSG: the file has another format, and `e` is not set; -EBADMSG: the file is
 * broken. */
int image_open(struct image *m, struct span file, struct err *e);

/* ELF only: section i of m->n_sections. 0, -EBADMSG. */
int image_section(const struct image *m, uint32_t i, struct image_section *out);

/* Finds the first section of this name. After image_place(), skips sections that are in a group. 0, -ENOENT,
 * -EBADMSG. */
int image_find(const struct image *m, const char *name, struct image_section *out);

/* ELF only: the lowest loaded address, which other tools call the image's base; 0: no segment is loaded. */
uint64_t image_base(const struct image *m);

/* ELF and WASM: the build id; empty: the file has no build id. */
struct span image_build_id(const struct image *m);

/* Mach-O only: what its load commands give besides sections. */
struct image_macho {
	uint64_t base;			/* of the segment __TEXT */
	uint64_t text_start, text_end;	/* of the section __text */
	struct span uuid;		/* empty: the file has no UUID */
	struct span symbols, names;	/* of the symbol table: entries of 16 or of 12 bytes */
};
int image_macho(const struct image *m, struct image_macho *out); /* 0; -EBADMSG */

/* Whether an object file that begins with this machine number counts as COFF, which has no other magic. */
bool image_is_coff(unsigned machine);

/* COFF only: section i; its address is relative to the base, and its flags are those of its header. 0,
 * -EBADMSG. */
int image_coff_section(const struct image *m, uint32_t i, struct image_section *out);

/* PE only: what its headers give besides sections. */
struct image_pe {
	uint64_t base;
	uint64_t exports, exports_size; /* address relative to the base, and size */
	struct span unwind;  /* unwind entries of functions, sorted by address */
	struct span symbols; /* COFF's table */
};
void image_pe(const struct image *m, struct image_pe *out);

/* PE only: the bytes of the nth data directory; empty: the file has none. */
struct span image_directory(const struct image *m, unsigned nth);

/* PE only: the bytes of the file from this address (relative to the base) to the end of its section;
 * empty: there are none. `last` is the section of the previous call, where the search begins; zero it
 * before the first call. */
struct span image_at(const struct image *m, struct image_section *last, uint64_t rva);

/* WASM only: finds the first section of this type; its address is the offset of its bytes in the file. 0, -ENOENT,
 * -EBADMSG. */
enum image_wasm_type { WASM_CUSTOM = 0, WASM_IMPORTS = 2, WASM_EXPORTS = 7, WASM_CODE = 10 };
int image_wasm_section(const struct image *m, enum image_wasm_type type, struct image_section *out);

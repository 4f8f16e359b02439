/* Writes an object file that contains GSYM: ELF, Mach-O or COFF, with two sections. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/object.h"
#include "base/util.h"

#include <stdbool.h>
#include <string.h>

enum {
	SHT_PROGBITS = 1, SHT_STRTAB = 3,
	MH_MAGIC = 0xfeedface, MH_OBJECT = 1, LC_SEGMENT = 1, LC_SEGMENT_64 = 0x19, S_ATTR_DEBUG = 0x02000000,
	COFF_DATA = 0x40, COFF_DISCARDABLE = 0x02000000, COFF_READ = 0x40000000
};

#define STRINGS_NAME ".gsymstrtab"
#define MACHO_STRINGS_NAME "__gsym_strtab"
#define NAMES "\0.shstrtab\0.gsym\0" STRINGS_NAME
#define ALIGN 8 /* so that the tables in the section are aligned in the file */

struct object {
	struct buf *out; /* keeps the first error */
	const struct gsym_made *made;
	const struct buf *main, *strings;
	bool big, is64;
};

static void put_number(struct object *o, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_add(o->out, &(uint8_t){(uint8_t)(v >> 8 * (o->big ? n - 1 - i : i))}, 1);
}

/* A number and its bytes; WORD: 4 or 8, by the class of the file. */
struct number {
	uint64_t v;
	unsigned n;
};
#define WORD 64

static void put_numbers(struct object *o, const struct number *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_number(o, all[i].v, all[i].n != WORD ? all[i].n : o->is64 ? 8 : 4);
}
#define PUT(o, ...)                                                                                            \
	put_numbers(o, (const struct number[]){__VA_ARGS__}, sizeof((const struct number[]){__VA_ARGS__}) /    \
		sizeof(struct number))

/* A name in room for n bytes. */
static void put_name(struct object *o, const char *name, size_t n)
{
	char room[16] = {0};

	memcpy(room, name, MIN(strlen(name), n));
	buf_add(o->out, room, n);
}

static uint64_t aligned(uint64_t at)
{
	return (at + ALIGN - 1) / ALIGN * ALIGN;
}

/* Writes the bytes of both sections, from offset `at` on. */
static void put_bytes(struct object *o, uint64_t at)
{
	while (o->out->r == 0 && o->out->n < at)
		put_number(o, 0, 1);
	buf_add(o->out, o->main->p, o->main->n);
	buf_add(o->out, o->strings->p, o->strings->n);
}

/* ---- ELF -------------------------------------------------------------------------------- */

static void put_section(struct object *o, uint32_t name, uint32_t type, uint64_t off, uint64_t size,
	unsigned align)
{
	PUT(o, {name, 4}, {type, 4}, {0, WORD}, {0, WORD}, {off, WORD}, {size, WORD}, {0, 4}, {0, 4}, {align, WORD},
		{0, WORD});
}

static void put_head(struct object *o)
{
	uint8_t ident[16] = {0x7f, 'E', 'L', 'F', o->is64 ? 2 : 1, o->big ? 2 : 1, 1};
	unsigned head = o->is64 ? 64 : 52;

	/* The section headers follow this header; section 1 has the names. */
	buf_add(o->out, ident, sizeof(ident));
	PUT(o, {o->made->type ? o->made->type : 1, 2}, {o->made->machine, 2}, {1, 4}, {0, WORD}, {0, WORD},
		{head, WORD}, {0, 4}, {head, 2}, {0, 2}, {0, 2}, {o->is64 ? 64 : 40, 2}, {4, 2}, {1, 2});
}

static void put_elf(struct object *o)
{
	uint64_t names = o->is64 ? 64 + 4 * 64 : 52 + 4 * 40, at = aligned(names + sizeof(NAMES));

	put_head(o);
	put_section(o, 0, 0, 0, 0, 0);
	put_section(o, 1, SHT_STRTAB, names, sizeof(NAMES), 1);
	put_section(o, 11, SHT_PROGBITS, at, o->main->n, ALIGN);
	put_section(o, 17, SHT_PROGBITS, at + o->main->n, o->strings->n, 1);
	buf_add(o->out, NAMES, sizeof(NAMES));
	put_bytes(o, at);
}

/* ---- Mach-O ------------------------------------------------------------------------------ */

static void put_macho_section(struct object *o, const char *name, uint64_t addr, uint64_t size,
	uint64_t off, unsigned align)
{
	put_name(o, name, 16);
	put_name(o, "__GSYM", 16);
	PUT(o, {addr, WORD}, {size, WORD}, {off, 4}, {align, 4}, {0, 4}, {0, 4}, {S_ATTR_DEBUG, 4}, {0, 8},
		{0, o->is64 ? 4 : 0});
}

/* Writes Mach-O as `ld -r` does: with one segment, which has no name. */
static void put_macho(struct object *o)
{
	unsigned head = o->is64 ? 32 : 28, segment = o->is64 ? 72 + 2 * 80 : 56 + 2 * 68;
	uint64_t at = aligned(head + segment), size = o->main->n + o->strings->n;

	PUT(o, {MH_MAGIC | o->is64, 4}, {o->made->machine, 4}, {o->made->submachine, 4}, {MH_OBJECT, 4}, {1, 4},
		{segment, 4}, {0, WORD}, {o->is64 ? LC_SEGMENT_64 : LC_SEGMENT, 4}, {segment, 4});
	put_name(o, "", 16);
	PUT(o, {0, WORD}, {size, WORD}, {at, WORD}, {size, WORD}, {7, 4}, {7, 4}, {2, 4}, {0, 4});
	put_macho_section(o, "__gsym", 0, o->main->n, at, 3);
	put_macho_section(o, MACHO_STRINGS_NAME, o->main->n, o->strings->n, at + o->main->n, 0);
	put_bytes(o, at);
}

/* ---- COFF ------------------------------------------------------------------------------- */

static void put_coff_section(struct object *o, const char *name, uint64_t size, uint64_t off)
{
	put_name(o, name, 8);
	PUT(o, {0, 8}, {size, 4}, {off, 4}, {0, 8}, {0, 4}, {COFF_DATA | COFF_DISCARDABLE | COFF_READ, 4});
}

/* A name of more than eight bytes is in the string table, after the symbol table, which is empty. */
static void put_coff(struct object *o)
{
	uint64_t at = aligned(20 + 2 * 40), end = at + o->main->n + o->strings->n;

	if (end > UINT32_MAX) {
		o->out->r = -EFBIG;
		return;
	}
	/* no time: the same input gives the same bytes */
	PUT(o, {o->made->machine, 2}, {2, 2}, {0, 4}, {end, 4}, {0, 4}, {0, 2}, {0, 2});
	put_coff_section(o, ".gsym", o->main->n, at);
	put_coff_section(o, "/4", o->strings->n, at + o->main->n);
	put_bytes(o, at);
	put_number(o, 4 + sizeof(STRINGS_NAME), 4);
	buf_add(o->out, STRINGS_NAME, sizeof(STRINGS_NAME));
}

int gsym_write_object(struct gsym_writer *w, const struct gsym_made *made, struct buf *out, struct err *e)
{
	static void (*const formats[])(struct object *o) = {
		[IMAGE_ELF] = put_elf, [IMAGE_MACHO] = put_macho, [IMAGE_COFF] = put_coff};
	_cleanup_buf_ struct buf main = BUF_UP_TO(UINT32_MAX), strings = BUF_UP_TO(UINT32_MAX);
	struct object o = {.out = out, .made = made, .main = &main, .strings = &strings,
		.big = made->big, .is64 = !made->is32};
	int r = gsym_write(w, GSYM_SECT0, made->big,
		made->kind == IMAGE_MACHO ? MACHO_STRINGS_NAME : STRINGS_NAME, &main, &strings, e);

	if (r < 0)
		return r;
	buf_clear(out);
	formats[made->kind](&o);
	return out->r < 0 ? err_set(e, out->r, "%s", err_text(out->r)) : 0;
}

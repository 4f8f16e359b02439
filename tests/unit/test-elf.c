/* Tests formats/obj/elf.c on images built in memory: every identity rule in both word sizes and both byte
 * orders, hostile values, and files of which only the beginning is present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/obj.h"
#include "base/hash.h"
#include "base/util.h"
#include "unit.h"
#include "worths.h"

#include <stdio.h>
#include <string.h>

enum { LOAD = 1, DYNAMIC = 2, NOTE = 4, SCE_DATA = 0x61000000 };
enum { PROGBITS = 1, SYMTAB = 2, STRTAB = 3, SHNOTE = 7, NOBITS = 8, DYNSYM = 11 };
enum { ALLOC = 2, EXEC = 4 };

/* ---- building ----------------------------------------------------------------------- */

/* A file that grows from its front; tables are put behind it by image_end(). */
struct image {
	bool is64, big;
	unsigned type, machine;
	uint8_t p[1 << 17];
	size_t n;
	struct {
		uint64_t type, off, size, align, flags;
	} seg[8];
	struct {
		const char *name;
		uint64_t type, flags, off, size, link;
	} sec[12];
	unsigned segs, secs;
	size_t shoff;
};

static struct image image; /* one test at a time, each in its own process */

static void put_at(struct image *m, size_t at, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		m->p[at + (m->big ? n - 1 - i : i)] = (uint8_t)(value >> 8 * i);
}

static void put(struct image *m, uint64_t value, unsigned n)
{
	put_at(m, m->n, value, n);
	m->n += n;
}

/* A word: 4 bytes or 8. */
static void put_word(struct image *m, uint64_t value)
{
	put(m, value, m->is64 ? 8 : 4);
}

static size_t put_bytes(struct image *m, const void *p, size_t n)
{
	size_t at = m->n;

	memcpy(m->p + m->n, p, n);
	m->n += n;
	return at;
}

static struct image *image_new(bool is64, bool big)
{
	struct image *m = &image;

	memset(m, 0, sizeof(*m));
	m->is64 = is64;
	m->big = big;
	m->type = 3;
	m->machine = is64 ? (big ? 21 : 62) : (big ? 20 : 3);
	m->n = (is64 ? 64 : 52) + 8 * (is64 ? 56 : 32);
	m->sec[m->secs++].name = "";
	return m;
}

static void segment(struct image *m, unsigned type, uint64_t off, uint64_t size, uint64_t align)
{
	m->seg[m->segs].type = type;
	m->seg[m->segs].off = off;
	m->seg[m->segs].size = size;
	m->seg[m->segs++].align = align;
}

static unsigned section(struct image *m, const char *name, unsigned type, unsigned flags,
	uint64_t off, uint64_t size)
{
	m->sec[m->secs].name = name;
	m->sec[m->secs].type = type;
	m->sec[m->secs].flags = flags;
	m->sec[m->secs].off = off;
	m->sec[m->secs].size = size;
	return m->secs++;
}

/* Returns where the note begins. */
static size_t note(struct image *m, const char *owner, size_t owner_size, unsigned type,
	const void *desc, size_t n, unsigned align)
{
	size_t at = m->n;

	put(m, owner_size, 4);
	put(m, n, 4);
	put(m, type, 4);
	put_bytes(m, owner, owner_size);
	while ((m->n - at) % align)
		put(m, 0, 1);
	put_bytes(m, desc, n);
	while ((m->n - at) % align)
		put(m, 0, 1);
	return at;
}

static void end_header(struct image *m)
{
	size_t end = m->n;

	m->n = 0;
	put_bytes(m, "\177ELF", 4);
	put(m, m->is64 ? 2 : 1, 1);
	put(m, m->big ? 2 : 1, 1);
	put(m, 1, 1);
	m->n = 16;
	put(m, m->type, 2);
	put(m, m->machine, 2);
	put(m, 1, 4);
	put_word(m, 0);
	put_word(m, m->is64 ? 64 : 52);
	put_word(m, m->shoff);
	put(m, 0, 4);
	put(m, m->is64 ? 64 : 52, 2);
	put(m, m->is64 ? 56 : 32, 2);
	put(m, m->segs, 2);
	put(m, m->is64 ? 64 : 40, 2);
	put(m, m->shoff ? m->secs : 0, 2);
	put(m, m->shoff ? m->secs - 1 : 0, 2);
	for (unsigned i = 0; i < m->segs; i++) {
		put(m, m->seg[i].type, 4);
		if (m->is64)
			put(m, 5, 4);
		put_word(m, m->seg[i].off);
		put_word(m, 0);
		put_word(m, 0);
		put_word(m, m->seg[i].size);
		put_word(m, m->seg[i].size);
		if (!m->is64)
			put(m, 5, 4);
		put_word(m, m->seg[i].align);
	}
	m->n = end;
}

/* Writes the tables; no section table if there is only the empty section. */
static struct image *image_end(struct image *m)
{
	uint64_t names = m->n, at[12] = {0};
	unsigned n = m->secs;

	if (n > 1) {
		section(m, ".shstrtab", STRTAB, 0, 0, 0);
		for (unsigned i = 0; i < m->secs; i++) {
			at[i] = m->n - names;
			put_bytes(m, m->sec[i].name, strlen(m->sec[i].name) + 1);
		}
		m->sec[n].off = names;
		m->sec[n].size = m->n - names;
		while (m->n % 8)
			put(m, 0, 1);
		m->shoff = m->n;
		for (unsigned i = 0; i < m->secs; i++) {
			put(m, at[i], 4);
			put(m, m->sec[i].type, 4);
			put_word(m, m->sec[i].flags);
			put_word(m, 0);
			put_word(m, m->sec[i].off);
			put_word(m, m->sec[i].size);
			put(m, m->sec[i].link, 4);
			put(m, 0, 4);
			put_word(m, 4);
			put_word(m, 0);
		}
	}
	end_header(m);
	return m;
}

static const uint8_t some_id[64] = {0xf1, 0xc3, 0xbc, 0xc0, 0x27, 0x98, 0x65, 0xfe, 0x30, 0x58, 0x40,
	0x4b, 0x28, 0x31, 0xd9, 0xe6, 0x41, 0x35, 0x38, 0x6c, 0x11, 0x22, 0x33};

/* Some code, so that the file is a library. */
static void code(struct image *m, size_t n)
{
	size_t at = m->n;

	for (size_t i = 0; i < n; i++)
		m->p[m->n++] = (uint8_t)(i * 7 + 3 + i / 256);
	section(m, ".text", PROGBITS, ALLOC | EXEC, at, n);
}

static struct image *library(bool is64, bool big, size_t id_size)
{
	struct image *m = image_new(is64, big);
	size_t at = note(m, "GNU", 4, 3, some_id, id_size, 4);

	segment(m, NOTE, at, m->n - at, 4);
	code(m, 64);
	return image_end(m);
}

static struct image *own_debug(const char *name, unsigned type)
{
	struct image *m = image_new(true, false);
	size_t at = note(m, "GNU", 4, 3, some_id, 20, 4);

	segment(m, NOTE, at, m->n - at, 4);
	segment(m, LOAD, 0, 1 << 20, 4096); /* the program's own, as old tools leave it */
	section(m, ".text", NOBITS, ALLOC | EXEC, at, 4096);
	section(m, ".dynsym", NOBITS, ALLOC, at, 4096);
	if (name)
		section(m, name, type, 0, at, 8);
	return image_end(m);
}

/* ---- asking ------------------------------------------------------------------------- */

static int identify(const struct image *m, struct obj_slice *s)
{
	struct view v = view_of_mem(m->p, m->n);
	struct err e = {0};

	return obj_identify(&v, 0, s, &e);
}

static struct obj_slice must(const struct image *m)
{
	struct view v = view_of_mem(m->p, m->n);
	struct obj_slice s;
	struct err e = {0};
	int r = obj_identify(&v, 0, &s, &e);

	ck_assert_msg(r == 0, "%d: %s", r, e.text);
	return s;
}

static int check(const void *p, size_t n, enum filetype t, const char *id, struct err *e)
{
	struct view v = view_of_mem(p, n);
	struct key k = {.type = t};
	struct obj_slice s;

	memset(e, 0, sizeof(*e));
	snprintf(k.id, sizeof(k.id), "%s", id);
	return obj_check(&v, &k, &s, e);
}

static void is_debug_id(const struct obj_slice *s, const char *text)
{
	char room[DEBUG_ID_TEXT];

	ck_assert_str_eq(debug_id_text(&s->module.debug_id, room), text);
}

static bool serves(const struct obj_slice *s, enum filetype t)
{
	return (s->n_types > 0 && s->types[0] == t) || (s->n_types > 1 && s->types[1] == t);
}

/* ---- identity ----------------------------------------------------------------------- */

START_TEST(ids_of_all_sizes)
{
	static const size_t sizes[] = {4, 8, 16, 20, 64};
	static const char *const little[] = {"c0bcc3f1-0000-0000-0000-000000000000",
		"c0bcc3f1-9827-fe65-0000-000000000000", "c0bcc3f1-9827-fe65-3058-404b2831d9e6",
		"c0bcc3f1-9827-fe65-3058-404b2831d9e6", "c0bcc3f1-9827-fe65-3058-404b2831d9e6"};
	static const char *const big[] = {"f1c3bcc0-0000-0000-0000-000000000000",
		"f1c3bcc0-2798-65fe-0000-000000000000", "f1c3bcc0-2798-65fe-3058-404b2831d9e6",
		"f1c3bcc0-2798-65fe-3058-404b2831d9e6", "f1c3bcc0-2798-65fe-3058-404b2831d9e6"};
	static const char *const arch[] = {"x86", "ppc", "x86_64", "ppc64"};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes) * 4; i++) {
		unsigned k = i / 4, end = i % 2, word = i / 2 % 2;
		struct obj_slice s = must(library(word, end, sizes[k]));
		char hex[CODE_ID_MAX + 1];

		hex_print(some_id, sizes[k], hex);
		ck_assert_str_eq(s.module.code_id, hex);
		is_debug_id(&s, end ? big[k] : little[k]);
		ck_assert_str_eq(s.format, "elf");
		ck_assert_str_eq(s.arch, arch[word * 2 + end]);
		ck_assert_int_eq(s.big_endian, end);
		ck_assert_int_eq(s.kind, OBJ_LIBRARY);
		ck_assert(serves(&s, FILETYPE_ELF_CODE) && !serves(&s, FILETYPE_ELF_DEBUG));
	}
}
END_TEST

START_TEST(id_too_long_is_broken)
{
	struct image *m = image_new(true, false);
	uint8_t id[65] = {1};
	size_t at = note(m, "GNU", 4, 3, id, sizeof(id), 4);
	struct obj_slice s;

	segment(m, NOTE, at, m->n - at, 4);
	code(m, 64);
	ck_assert_int_eq(identify(image_end(m), &s), -EBADMSG);
}
END_TEST

START_TEST(empty_id_is_nil)
{
	struct obj_slice s = must(library(true, false, 0));

	ck_assert_str_eq(s.module.code_id, "");
	ck_assert(debug_id_is_nil(&s.module.debug_id));
}
END_TEST

/* XOR of the first 4096 bytes, so what follows does not count. */
START_TEST(text_hash)
{
	for (unsigned i = 0; i < 4; i++) {
		struct obj_slice s[2];
		uint8_t hash[16] = {0};
		struct debug_id want;

		for (unsigned k = 0; k < 2; k++) {
			struct image *m = image_new(i & 1, i & 2);

			code(m, k ? 4500 : 4096);
			s[k] = must(image_end(m));
		}
		for (unsigned b = 0; b < 4096; b++)
			hash[b % 16] ^= (uint8_t)(b * 7 + 3 + b / 256);
		debug_id_from_build_id(&want, hash, 16, i & 2);
		ck_assert(debug_id_equal(&s[0].module.debug_id, &want));
		ck_assert(debug_id_equal(&s[1].module.debug_id, &want));
		ck_assert_str_eq(s[0].module.code_id, "");
	}
}
END_TEST

START_TEST(text_hash_short)
{
	static const uint8_t text[5] = {3, 0x0a, 0x11, 0x18, 0x1f};

	for (unsigned big = 0; big < 2; big++) {
		struct image *m = image_new(true, big);
		struct obj_slice s;

		section(m, ".text", PROGBITS, ALLOC | EXEC, put_bytes(m, text, 5), 5);
		s = must(image_end(m));
		is_debug_id(&s, big ? "030a1118-1f00-0000-0000-000000000000"
				    : "18110a03-001f-0000-0000-000000000000");
	}
}
END_TEST

/* A note of another owner stands before it: Xen's type 3 is an address, in every x86 kernel. */
START_TEST(owner_counts)
{
	struct image *m = image_new(true, false);
	size_t at = note(m, "Xen", 4, 3, "\1\2\3\4\5\6\7\10", 8, 4);
	struct obj_slice s;

	note(m, "FreeBSD", 8, 3, "aarch64", 8, 4);
	note(m, "GNU", 4, 3, some_id, 20, 4);
	segment(m, NOTE, at, m->n - at, 4);
	code(m, 64);
	s = must(image_end(m));
	ck_assert_str_eq(s.module.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");

	m = image_new(true, false);
	at = note(m, "FreeBSD", 8, 3, "aarch64", 8, 4);
	segment(m, NOTE, at, m->n - at, 4);
	code(m, 64);
	s = must(image_end(m));
	ck_assert_str_eq(s.module.code_id, "");
}
END_TEST

/* Padding of 8; and notes padded to 4 in a segment that says 8. */
START_TEST(note_padding)
{
	for (unsigned align = 4; align <= 8; align += 4) {
		struct image *m = image_new(true, false);
		size_t at = note(m, "GNU", 4, 5, "\1\2\3\4\5\6\7\10\11\12\13\14", 12, align);
		struct obj_slice s;

		note(m, "GNU", 4, 3, some_id, 20, align);
		segment(m, NOTE, at, m->n - at, 8);
		code(m, 64);
		s = must(image_end(m));
		ck_assert_str_eq(s.module.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	}
}
END_TEST

START_TEST(id_in_sections_alone)
{
	static const char *const names[] = {".note.gnu.build-id", ".notes"};

	for (unsigned i = 0; i < 8; i++) {
		struct image *m = image_new(i & 1, i & 2);
		size_t at = note(m, "GNU", 4, 3, some_id, 20, 4);
		struct obj_slice s;

		/* the segment points at bytes that are not there, as in some debug files */
		segment(m, NOTE, i & 1 ? UINT64_MAX - 8 : 0xfffffff0, 0x24, 4);
		segment(m, NOTE, 1 << 20, 0x24, 4);
		section(m, names[i / 4], SHNOTE, ALLOC, at, m->n - at);
		code(m, 64);
		s = must(image_end(m));
		ck_assert_str_eq(s.module.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	}
}
END_TEST

START_TEST(id_of_a_console)
{
	struct image *m = image_new(true, false);
	struct obj_slice s;

	segment(m, SCE_DATA, put_bytes(m, some_id, 40), 40, 8);
	code(m, 64);
	m->type = 0xfe18;
	s = must(image_end(m));
	ck_assert_str_eq(s.module.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	ck_assert_int_eq(s.kind, OBJ_LIBRARY);
}
END_TEST

/* ---- kinds -------------------------------------------------------------------------- */

START_TEST(debug_files)
{
	struct obj_slice s = must(own_debug(".debug_info", PROGBITS));

	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_worth(s, "debug=full");
	ck_assert(serves(&s, FILETYPE_ELF_DEBUG) && !serves(&s, FILETYPE_ELF_CODE));
	s = must(own_debug(".debug_line", PROGBITS));
	ck_assert_worth(s, "debug=lines");
	s = must(own_debug(".symtab", SYMTAB));
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_worth(s, "symbols=full");
	s = must(own_debug(".debug_info", NOBITS));
	ck_assert_worth(s, "none");
	s = must(own_debug(NULL, 0));
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert(debug_id_is_nil(&s.module.debug_id) == false);
}
END_TEST

START_TEST(static_executable_is_no_debug_file)
{
	struct image *m = image_new(true, false);
	struct obj_slice s;

	m->type = 2;
	code(m, 64);
	s = must(image_end(m));
	ck_assert_int_eq(s.kind, OBJ_EXECUTABLE);
	ck_assert(s.code);
}
END_TEST

START_TEST(pie_is_an_executable)
{
	for (unsigned i = 0; i < 4; i++) {
		struct image *m = image_new(i & 1, i & 2);
		size_t at = m->n;
		struct obj_slice s;

		put_word(m, 1);
		put_word(m, 1);
		put_word(m, 0x6ffffffb);
		put_word(m, 0x08000001);
		put_word(m, 0);
		put_word(m, 0);
		segment(m, DYNAMIC, at, m->n - at, 8);
		code(m, 64);
		s = must(image_end(m));
		ck_assert_int_eq(s.kind, OBJ_EXECUTABLE);
	}
}
END_TEST

START_TEST(both_code_and_debug)
{
	struct image *m = image_new(true, false);
	size_t at = note(m, "GNU", 4, 3, some_id, 20, 4);
	struct obj_slice s;

	segment(m, NOTE, at, m->n - at, 4);
	code(m, 64);
	section(m, ".zdebug_info", PROGBITS, 0, at, 8);
	section(m, ".eh_frame", PROGBITS, ALLOC, at, 8);
	section(m, ".dynsym", DYNSYM, ALLOC, at, 8);
	s = must(image_end(m));
	ck_assert_int_eq(s.n_types, 2);
	ck_assert_int_eq(s.types[0], FILETYPE_ELF_CODE);
	ck_assert_int_eq(s.types[1], FILETYPE_ELF_DEBUG);
	ck_assert_worth(s, "symbols=dynamic debug=full unwind");
	ck_assert(s.code);
}
END_TEST

START_TEST(data_and_loaded_scripts)
{
	struct image *m = image_new(true, false);
	struct obj_slice s;

	section(m, ".rodata", PROGBITS, ALLOC, put_bytes(m, some_id, 20), 20);
	s = must(image_end(m));
	ck_assert_int_eq(s.kind, OBJ_LIBRARY); /* as the ICU's tables are */
	ck_assert(serves(&s, FILETYPE_ELF_CODE));

	m = image_new(true, false);
	code(m, 64);
	section(m, ".debug_gdb_scripts", PROGBITS, ALLOC, 64, 8);
	s = must(image_end(m));
	ck_assert(!serves(&s, FILETYPE_ELF_DEBUG));
}
END_TEST

START_TEST(objects_and_cores)
{
	struct image *m = image_new(true, false);
	size_t at = note(m, "CORE", 5, 3, some_id, 20, 4);
	struct obj_slice s;

	segment(m, NOTE, at, m->n - at, 4);
	segment(m, LOAD, at, 8, 4096);
	m->type = 4;
	s = must(image_end(m));
	ck_assert_int_eq(s.kind, OBJ_OTHER);
	ck_assert_int_eq(s.n_types, 0);

	m = image_new(true, false);
	section(m, ".debug_info.dwo", PROGBITS, 0, put_bytes(m, some_id, 20), 20);
	m->type = 1;
	s = must(image_end(m));
	ck_assert_int_eq(s.kind, OBJ_OBJECT);
	ck_assert_worth(s, "debug=full");
}
END_TEST

START_TEST(without_sections)
{
	struct image *m = image_new(false, true);
	size_t at = note(m, "GNU", 4, 3, some_id, 20, 4);
	struct obj_slice s;

	segment(m, NOTE, at, m->n - at, 4);
	segment(m, LOAD, 0, m->n, 4096);
	s = must(image_end(m));
	ck_assert_int_eq(s.kind, OBJ_LIBRARY);
	ck_assert(serves(&s, FILETYPE_ELF_CODE));
	m->n--;
	ck_assert_int_eq(identify(m, &s), -EBADMSG);
}
END_TEST

/* More sections than the header has bits for: the first section header counts them. */
START_TEST(extended_numbering)
{
	struct image *m = library(true, false, 20);
	unsigned n = m->secs;
	struct err e = {0};
	struct obj_slice s;
	struct view v;

	put_at(m, m->shoff + 32, n, 8);
	put_at(m, m->shoff + 40, n - 1, 4);
	put_at(m, m->shoff + 44, m->segs, 4);
	put_at(m, 56, 0xffff, 2);
	put_at(m, 60, 0, 2);
	put_at(m, 62, 0xffff, 2);
	s = must(m);
	ck_assert_str_eq(s.module.code_id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
	ck_assert_int_eq(s.kind, OBJ_LIBRARY);

	put_at(m, m->shoff + 32, UINT64_MAX, 8);
	v = view_of_mem(m->p, m->n);
	ck_assert_int_eq(obj_identify(&v, 0, &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is broken: its section table has 4294967295 entries");
}
END_TEST

/* ---- hostile ------------------------------------------------------------------------ */

START_TEST(hostile_fields)
{
	static const uint64_t values[] = {0, 1, 7, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 63,
		UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 63};
	unsigned bad = 0;

	/* Every aligned field of every header is set to every value, in all four kinds of file. */
	for (unsigned kind = 0; kind < 4; kind++) {
		size_t n = library(kind & 1, kind & 2, 20)->n, step = 4;

		for (size_t at = 4; at < n; at += at < 64 ? 2 : step) {
			for (unsigned i = 0; i < ARRAY_SIZE(values); i++) {
				struct image *m = library(kind & 1, kind & 2, 20);
				unsigned width = i < 3 ? 2 : i < 6 ? 4 : 8;
				struct obj_slice s;
				int r;

				if (at + width > n)
					continue;
				put_at(m, at, values[i], width);
				r = identify(m, &s);
				ck_assert_msg(r == 0 || r == -EBADMSG, "%zu: %d", at, r);
				bad += r != 0;
			}
		}
	}
	ck_assert_uint_gt(bad, 100);
}
END_TEST

START_TEST(hostile_notes)
{
	static const uint32_t sizes[] = {0x7fffffff, 0xfffffff0, 0xffffffff, 0xfffffff4};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes) * 2; i++) {
		struct image *m = image_new(true, i & 1);
		size_t at = note(m, "GNU", 4, 3, some_id, 20, 4);
		struct obj_slice s;

		put_at(m, at + (i & 1 ? 4 : 0), sizes[i / 2], 4);
		segment(m, NOTE, at, m->n - at, i & 2 ? 8 : 4);
		code(m, 64);
		s = must(image_end(m));
		ck_assert_str_eq(s.module.code_id, "");
		/* In a segment as large as the note claims to be, it is a broken build id or none. */
		put_at(m, 64 + 32, UINT64_MAX - at, 8);
		ck_assert_int_eq(identify(m, &s), i & 1 ? -EBADMSG : 0);
	}
}
END_TEST

/* A million empty notes: the walk is given up long before. */
START_TEST(endless_notes)
{
	struct image *m = image_new(true, false);
	struct obj_slice s;

	segment(m, NOTE, 4096, sizeof(m->p) - 8192, 4);
	m->n = sizeof(m->p) - 4096;
	code(m, 64);
	s = must(image_end(m));
	ck_assert_str_eq(s.module.code_id, "");
}
END_TEST

/* ---- keys --------------------------------------------------------------------------- */

#define ID "f1c3bcc0279865fe3058404b2831d9e64135386c"

START_TEST(check_matches)
{
	struct image *m = library(true, false, 20);
	struct err e;

	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, ID, &e), 1);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE,
		"0000bcc0279865fe3058404b2831d9e64135386c", &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is build id " ID ", not 0000bcc0279865fe3058404b2831d9e64135386c");
	/* The same build, stripped: it is not its debug file. */
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_DEBUG, ID, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "stripped library"));
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_PDB, "3249D99D0C4049318610F4E4FB0B69361", &e),
		-EBADMSG);
	ck_assert_str_eq(e.text, "is elf, not pdb");
	m = own_debug(".debug_info", PROGBITS);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_DEBUG, ID, &e), 1);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, ID, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "is the debug file"));
	m = library(false, true, 0);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, ID, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "has no build id"));
}
END_TEST

/* By debug id, in the file's own byte order; and a file without a build id has no other. */
START_TEST(check_debug_ids)
{
	struct key keys[OBJ_KEYS_MOST];
	struct obj_slice s;
	char text[KEY_TEXT];
	struct err e;

	for (unsigned big = 0; big < 2; big++) {
		const char *id[] = {"C0BCC3F19827FE653058404B2831D9E60", "F1C3BCC0279865FE3058404B2831D9E60"};
		struct image *m = library(true, big, 20);

		ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, id[big], &e), 1);
		ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, id[!big], &e), -EBADMSG);
		s = must(m);
		ck_assert_uint_ge(obj_keys(&s, keys), 1);
		ck_assert(!key_is_by_debug_id(&keys[0]));
	}
	struct image *m = image_new(true, false);

	code(m, 64);
	s = must(image_end(m));
	ck_assert_uint_ge(obj_keys(&s, keys), 1);
	ck_assert(key_is_by_debug_id(&keys[0]));
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, keys[0].id, &e), 1);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE, ID, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(key_text(&keys[0], text), "elf_code "));
}
END_TEST

START_TEST(check_padded_ids)
{
	struct image *m = library(true, false, 16);
	struct err e;

	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE,
		"F1C3BCC0279865FE3058404B2831D9E600000000", &e), 1);
	ck_assert_int_eq(check(m->p, m->n, FILETYPE_ELF_CODE,
		"f1c3bcc0279865fe3058404b2831d9e600000001", &e), -EBADMSG);
}
END_TEST

START_TEST(check_other_things)
{
	static const struct {
		const char *bytes, *text;
	} rows[] = {
		{"", "is empty"},
		{"<!DOCTYPE html><html><body>Sign in</body></html>", "is an HTML page"},
		{"\xef\xbb\xbf \n<HTML>", "is an HTML page"},
		{"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
			"is an XML document"},
		{"Not Found\n", "is text"},
		{"\x1f\x8b\x08", "is gzip data"},
		{"\x01\x02\x03\x04", "is of no known format"},
		{"\177EL", "is of no known format"},
	};
	struct err e;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].bytes);

		ck_assert_int_eq(check(rows[i].bytes, n, FILETYPE_ELF_DEBUG, ID, &e), -EBADMSG);
		ck_assert_str_eq(e.text, rows[i].text);
		ck_assert_int_eq(e.code, -EBADMSG);
		ck_assert_int_eq(check(rows[i].bytes, n, FILETYPE_SOURCE, ID, &e), 0);
		ck_assert_int_eq(check(rows[i].bytes, n, FILETYPE_SECTION, ID, &e), 0);
	}
	ck_assert_int_eq(check("{}", 2, FILETYPE_IL2CPP, "00", &e), 0);
	ck_assert_int_eq(check("<html>", 6, FILETYPE_IL2CPP, "00", &e), -EBADMSG);
	ck_assert_int_eq(check("gz", 2, FILETYPE_GSYM, "00", &e), -EBADMSG);
}
END_TEST

START_TEST(heads)
{
	uint8_t elf[64] = "\177ELF", page[64] = "<html>", other[64] = {9};

	ck_assert(obj_may_be(FILETYPE_ELF_CODE, elf, 64));
	ck_assert(obj_may_be(FILETYPE_ELF_DEBUG, elf, 64));
	ck_assert(!obj_may_be(FILETYPE_ELF_DEBUG, elf, 3));
	ck_assert(!obj_may_be(FILETYPE_ELF_DEBUG, page, 64));
	ck_assert(!obj_may_be(FILETYPE_PDB, page, 64));
	ck_assert(obj_may_be(FILETYPE_SOURCE, page, 64));
	ck_assert(obj_may_be(FILETYPE_SECTION, page, 0));
	ck_assert(obj_may_be(FILETYPE_IL2CPP, other, 64));
}
END_TEST

START_TEST(words)
{
	ck_assert_str_eq(obj_kind_name(OBJ_DEBUG), "debug");
	ck_assert_str_eq(obj_kind_name((enum obj_kind)99), "none");
}
END_TEST

/* ---- the beginning of a file -------------------------------------------------------- */

/* The first `have` bytes alone are in memory, so that a read behind them is caught. */
static int part(const uint8_t *p, size_t have, uint64_t size, const struct key *k,
	struct obj_slice *s)
{
	_cleanup_free_ uint8_t *copy = calloc(1, have + 1);
	struct view v = view_of_mem(copy, have);
	struct err e = {0};
	int r;

	memcpy(copy, p, have);
	v.size = size;
	r = k ? obj_check(&v, k, s, &e) : obj_identify(&v, 0, s, &e);
	if (r == -EAGAIN) /* and it tells what it misses */
		ck_assert_msg(v.want_len && v.want_off + v.want_len > have, "%zu of %zu: %llu + %llu",
			have, (size_t)size, (unsigned long long)v.want_off,
			(unsigned long long)v.want_len);
	return r;
}

/* Every prefix answers what the whole answers, or that it must wait. */
static void consistent(const uint8_t *p, size_t n, const struct key *k)
{
	struct obj_slice whole, s;
	int r = part(p, n, n, k, &whole);

	for (size_t have = 0; have <= n; have++) {
		for (unsigned known = 0; known < 2; known++) {
			int part_r = part(p, have, known ? n : VIEW_UNKNOWN, k, &s);

			if (part_r == -EAGAIN && have < n)
				continue;
			if (part_r == -EAGAIN && !known) /* only the end of the stream can tell */
				continue;
			ck_assert_msg(part_r == r, "%zu of %zu bytes: %d, not %d", have, n, part_r, r);
			if (r >= 0 && s.format) {
				ck_assert_str_eq(s.module.code_id, whole.module.code_id);
				ck_assert_int_eq(s.kind, whole.kind);
				ck_assert_int_eq(memcmp(&s.worth, &whole.worth, sizeof(s.worth)), 0);
				ck_assert_int_eq(s.code, whole.code);
			}
		}
	}
}

START_TEST(prefixes_agree)
{
	static const enum filetype types[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG, FILETYPE_PDB,
		FILETYPE_SOURCE, FILETYPE_IL2CPP};

	for (unsigned kind = 0; kind < 5; kind++) {
		struct image *m = kind < 4 ? library(kind & 1, kind & 2, 20)
					   : own_debug(".debug_info", PROGBITS);
		_cleanup_free_ uint8_t *copy = malloc(m->n);

		memcpy(copy, m->p, m->n);
		consistent(copy, m->n, NULL);
		for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
			struct key k = {.type = types[i], .id = ID};

			consistent(copy, m->n, &k);
			k.id[0] = '0';
			consistent(copy, m->n, &k);
		}
	}
	consistent((const uint8_t *)"<html>It is gone</html>", 23, NULL);
}
END_TEST

/* Another build, and what is no ELF at all, are refused long before the end. */
START_TEST(early_refusal)
{
	struct image *m = library(true, false, 20);
	struct key k = {.type = FILETYPE_ELF_CODE, .id = "00" ID};
	struct obj_slice s;
	uint8_t page[4096] = "<html>";

	ck_assert_int_eq(part(m->p, 600, VIEW_UNKNOWN, &k, &s), -EBADMSG);
	ck_assert_int_eq(part(page, 64, VIEW_UNKNOWN, &k, &s), -EBADMSG);
	ck_assert_int_eq(part(page, 64, 4096, &k, &s), -EBADMSG);
	snprintf(k.id, sizeof(k.id), "%s", ID);
	ck_assert_int_eq(part(m->p, 600, m->n, &k, &s), -EAGAIN);
	/* A length that cannot hold the section table is told by the header alone. */
	ck_assert_int_eq(part(m->p, 64, m->n - 1, &k, &s), -EBADMSG);
}
END_TEST

/* ---- a real file -------------------------------------------------------------------- */

static uint8_t *compiled(const char *more, size_t *n)
{
	char dir[] = "/tmp/symfs-elf-XXXXXX", command[512];
	const char *cc = getenv("CC");
	uint8_t *p = malloc(1 << 20);
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(command, sizeof(command),
		"cd %s && echo 'int f(int x){return x+1;}' >f.c && %s -shared -fPIC -nostdlib "
		"-Wl,--build-id=sha1 -Wl,-z,max-page-size=4096 -g %s -o f f.c",
		dir, cc && *cc ? cc : "cc", more);
	ck_assert_int_eq(system(command), 0);
	snprintf(command, sizeof(command), "%s/f", dir);
	f = fopen(command, "re");
	ck_assert_ptr_nonnull(f);
	*n = fread(p, 1, 1 << 20, f);
	fclose(f);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
	return p;
}

/* Cut short at any byte it is broken, and never taken for whole. */
START_TEST(cut_anywhere)
{
	static const char *const more[] = {"", "-Wl,--strip-all"};

	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		size_t n;
		_cleanup_free_ uint8_t *p = compiled(more[i], &n);
		struct obj_slice s;

		ck_assert_int_eq(part(p, n, n, NULL, &s), 0);
		ck_assert_uint_eq(strlen(s.module.code_id), 40);
		for (size_t cut = 4; cut < n; cut++) {
			struct key k = {.type = FILETYPE_ELF_CODE};
			struct obj_slice none;

			snprintf(k.id, sizeof(k.id), "%s", s.module.code_id);
			ck_assert_int_eq(part(p, cut, cut, NULL, &none), -EBADMSG);
			ck_assert_int_eq(part(p, cut, cut, &k, &none), -EBADMSG);
		}
		consistent(p, n, NULL);
	}
}
END_TEST

/* ---- where readers walk ------------------------------------------------------------- */

#define UNITS 3

/* A debug file of three units and an index that lists them. Where the index is. */
static size_t indexed(struct image *m, unsigned version, unsigned flags)
{
	uint8_t info[3000] = {1};
	size_t at = put_bytes(m, info, sizeof(info)), index;
	bool big = m->big;

	section(m, ".debug_info", PROGBITS, 0, at, sizeof(info));
	m->big = false; /* it is so in all files */
	index = m->n;
	put(m, version, 4);
	put(m, 24, 4);
	put(m, 24 + 16 * UNITS, 4);
	for (unsigned i = 0; i < 3; i++)
		put(m, 24 + 16 * UNITS, 4);
	for (unsigned i = 0; i < UNITS; i++) {
		put(m, 1000 * i, 8);
		put(m, 1000, 8);
	}
	m->big = big;
	section(m, ".gdb_index", PROGBITS, flags, index, m->n - index);
	section(m, ".strtab", STRTAB, 0, at, 7);
	return index;
}

START_TEST(walks)
{
	for (unsigned form = 0; form < 4; form++) {
		struct image *m = image_new(form & 1, form & 2);
		size_t index = indexed(m, 8, 0), info = m->sec[1].off;
		uint64_t at[UNITS + 1];
		struct obj_walk w;
		struct view v;

		image_end(m);
		v = view_of_mem(m->p, m->n);
		ck_assert_int_eq(obj_walk(&v, &w), 0);
		ck_assert_uint_eq(w.n_tables, 2);
		ck_assert_uint_eq(w.tables[0].off, index);
		ck_assert_uint_eq(w.tables[0].n, 24 + 16 * UNITS);
		ck_assert_uint_eq(w.units.off, info);
		ck_assert_uint_eq(w.units.n, 3000);
		ck_assert_int_eq(obj_heads(&v, at, ARRAY_SIZE(at)), UNITS);
		for (unsigned i = 0; i < UNITS; i++)
			ck_assert_uint_eq(at[i], info + 1000 * i);
		ck_assert_int_eq(obj_heads(&v, at, 2), 2);
		/* Units behind the section are left out; lists that end before they begin are none. */
		m->p[index + 24 + 16 + 1] = 0xff;
		ck_assert_int_eq(obj_heads(&v, at, ARRAY_SIZE(at)), UNITS - 1);
		m->p[index + 4] = 24 + 16 * UNITS + 1;
		ck_assert_int_eq(obj_heads(&v, at, ARRAY_SIZE(at)), -ENOENT);
		m->p[index + 4] = 24;
		m->p[index + 9] = 0xff;
		ck_assert_int_eq(obj_heads(&v, at, ARRAY_SIZE(at)), -ENOENT);
	}
}
END_TEST

/* The same three units by .debug_names, or by .debug_aranges. */
static void listed(struct image *m, bool by_names, unsigned version, unsigned length)
{
	uint8_t info[3000] = {1};
	size_t at = put_bytes(m, info, sizeof(info)), list = m->n;

	section(m, ".debug_info", PROGBITS, 0, at, sizeof(info));
	if (by_names) {
		put(m, length ? length : 32 + 8 + 4 * UNITS, 4);
		put(m, version, 4); /* its padding is zero: the order of both is not seen */
		put_at(m, list + 4, version, 2);
		put_at(m, list + 6, 0, 2);
		put(m, UNITS, 4);
		for (unsigned i = 0; i < 5; i++)
			put(m, 0, 4);
		put(m, 5, 4);
		put_bytes(m, "LLVM0\0\0", 8);
		for (unsigned i = 0; i < UNITS; i++)
			put(m, 1000 * i, 4);
	} else {
		for (unsigned i = 0; i < UNITS; i++) {
			put(m, length ? length : 28, 4);
			put(m, version, 2);
			put(m, 1000 * i, 4);
			put_bytes(m, info, 22);
		}
	}
	section(m, by_names ? ".debug_names" : ".debug_aranges", PROGBITS, 0, list, m->n - list);
}

START_TEST(units_by_names_and_by_addresses)
{
	static const struct {
		bool by_names;
		unsigned version, length;
		int n;
	} rows[] = {{true, 5, 0, UNITS}, {false, 2, 0, UNITS}, {true, 4, 0, -ENOENT}, {true, 5, 40, -ENOENT},
		{true, 5, 0xffffffff, -ENOENT}, {false, 3, 0, -ENOENT}, {false, 2, 5, -ENOENT},
		{false, 2, 0xfffffff0, 1}, {false, 2, 0xffffffff, 1}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows) * 4; i++) {
		struct image *m = image_new(i & 1, i & 2);
		uint64_t at[UNITS] = {0};
		struct obj_walk w;
		struct view v;

		listed(m, rows[i / 4].by_names, rows[i / 4].version, rows[i / 4].length);
		image_end(m);
		v = view_of_mem(m->p, m->n);
		ck_assert_int_eq(obj_walk(&v, &w), 0);
		ck_assert_uint_eq(w.units.n, 3000);
		ck_assert_msg(obj_heads(&v, at, UNITS) == rows[i / 4].n, "row %u: %d", i, obj_heads(&v, at, UNITS));
		for (int k = 0; k < rows[i / 4].n; k++)
			ck_assert_uint_eq(at[k], w.units.off + 1000 * (unsigned)k);
	}
}
END_TEST

static bool all_but_index(const void *ctx, uint64_t off, uint64_t n)
{
	const size_t *index = ctx;

	return off + n <= *index || off >= *index + 24 + 16 * UNITS;
}

START_TEST(walks_that_lead_nowhere)
{
	static const struct {
		unsigned version, flags;
		int tables;
	} rows[] = {{3, 0, 2}, {10, 0, 2}, {8, 0x800, 1}};
	uint64_t at[UNITS];
	struct image *m;
	struct obj_walk w;
	struct view v;
	size_t index;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		m = image_new(true, false);
		indexed(m, rows[i].version, rows[i].flags);
		image_end(m);
		v = view_of_mem(m->p, m->n);
		ck_assert_int_eq(obj_walk(&v, &w), 0);
		ck_assert_int_eq((int)w.n_tables, rows[i].tables);
		ck_assert_int_eq(obj_heads(&v, at, UNITS), -ENOENT);
	}
	ck_assert_uint_eq(w.units.n, 0); /* no index lists them */
	v = view_of_mem("MZ no", 5);
	ck_assert_int_eq(obj_walk(&v, &w), -ENOENT);
	ck_assert_int_eq(obj_heads(&v, at, UNITS), -ENOENT);
	/* The list is not here yet. */
	m = image_new(true, false);
	index = indexed(m, 8, 0);
	image_end(m);
	v = view_of_mem(m->p, m->n);
	v.has = all_but_index;
	v.ctx = &index;
	ck_assert_int_eq(obj_walk(&v, &w), 0);
	ck_assert_int_eq(obj_heads(&v, at, UNITS), -EAGAIN);
	ck_assert_uint_eq(v.want_off, index);
}
END_TEST

UNIT_MAIN("elf", walks, units_by_names_and_by_addresses, walks_that_lead_nowhere, ids_of_all_sizes,
	id_too_long_is_broken, empty_id_is_nil, text_hash, text_hash_short,
	owner_counts, note_padding, id_in_sections_alone, id_of_a_console, debug_files,
	static_executable_is_no_debug_file, pie_is_an_executable, both_code_and_debug,
	data_and_loaded_scripts, objects_and_cores, without_sections, extended_numbering,
	hostile_fields, hostile_notes, endless_notes, check_matches, check_debug_ids, check_padded_ids,
	check_other_things, heads, words, prefixes_agree, early_refusal, cut_anywhere)

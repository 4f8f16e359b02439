/* Tests formats/obj/pe.c on files built in memory: identity and kinds, the choice between several debug
 * entries, the contents of a program, hostile values, and files of which only the beginning is
 * present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "images.h"
#include "worths.h"

#define HEADER 0x80
#define OPTIONAL (HEADER + 24)
#define RDATA 0x600 /* where the section stands that tests write to */
#define RDATA_RVA 0x2000
#define RDATA_SIZE 0x1000

enum { EXPORTS = 0, EXCEPTIONS = 3, DEBUG = 6, CLR = 14 };
enum { CODEVIEW = 2, EMBEDDED = 17, CHECKSUM = 19 };
enum { CODE = 0x20, DATA = 0x40, DLL = 0x2000 };
enum { PORTABLE = 0x504d };

static bool plus;
static unsigned entries;
static size_t room; /* where free bytes of the section begin */

static const uint8_t guid[16] = {0x9d, 0xd9, 0x49, 0x32, 0x40, 0x0c, 0x31, 0x49, 0x86, 0x10, 0xf4,
	0xe4, 0xfb, 0x0b, 0x69, 0x36};

static void section(const char *name, uint32_t rva, uint32_t off, uint32_t size, uint32_t flags)
{
	unsigned n = image.p[HEADER + 6];
	size_t at = OPTIONAL + (plus ? 240 : 224) + n * 40;

	put_at(HEADER + 6, n + 1, 2);
	put_bytes(at, name, MIN(strlen(name), 8));
	put_at(at + 8, 0x1000, 4);
	put_at(at + 12, rva, 4);
	put_at(at + 16, size, 4);
	put_at(at + 20, off, 4);
	put_at(at + 36, flags, 4);
	if (off && size)
		image.n = MAX(image.n, off + size);
}

static void directory(unsigned i, uint32_t rva, uint32_t size)
{
	size_t at = OPTIONAL + (plus ? 112 : 96) + i * 8;

	put_at(at, rva, 4);
	put_at(at + 4, size, 4);
}

static void header(bool wide, unsigned machine, unsigned flags)
{
	memset(&image, 0, sizeof(image));
	plus = wide;
	entries = 0;
	room = RDATA + 0x200;
	put_bytes(0, "MZ", 2);
	put_at(0x3c, HEADER, 4);
	put_bytes(HEADER, "PE\0", 4);
	put_at(HEADER + 4, machine, 2);
	put_at(HEADER + 8, 0x5ab38077, 4);
	put_at(HEADER + 20, wide ? 240 : 224, 2);
	put_at(HEADER + 22, 2 | flags, 2);
	put_at(OPTIONAL, wide ? 0x20b : 0x10b, 2);
	put_at(OPTIONAL + 56, 0x9000, 4);
	put_at(OPTIONAL + 60, 0x400, 4);
	put_at(OPTIONAL + (wide ? 108 : 92), 16, 4);
}

/* A library with code, and a section to write to. */
static void library(void)
{
	header(true, 0x8664, DLL);
	section(".text", 0x1000, 0x400, 0x200, CODE);
	section(".rdata", RDATA_RVA, RDATA, RDATA_SIZE, DATA);
}

static void entry(unsigned type, uint32_t stamp, unsigned minor, const void *p, size_t n)
{
	size_t at = RDATA + 28 * (size_t)entries++;

	put_at(at, 0, 4);
	put_at(at + 4, stamp, 4);
	put_at(at + 8, 0x100, 2);
	put_at(at + 10, minor, 2);
	put_at(at + 12, type, 4);
	put_at(at + 16, n, 4);
	put_at(at + 20, RDATA_RVA + (room - RDATA), 4);
	put_at(at + 24, room, 4);
	put_bytes(room, p, n);
	room += n + 7;
	directory(DEBUG, RDATA_RVA, 28 * entries);
}

static size_t rsds(uint8_t *p, uint8_t first, uint32_t age, const char *path)
{
	memcpy(p, "RSDS", 4);
	memcpy(p + 4, guid, 16);
	p[4] = first;
	for (unsigned i = 0; i < 4; i++)
		p[20 + i] = (uint8_t)(age >> 8 * i);
	memcpy(p + 24, path, strlen(path) + 1);
	return 24 + strlen(path) + 1;
}

static void codeview(uint8_t first, uint32_t age, const char *path, uint32_t stamp, unsigned minor)
{
	uint8_t p[1400];

	entry(CODEVIEW, stamp, minor, p, rsds(p, first, age, path));
}

/* ---- the image ---------------------------------------------------------------------- */

START_TEST(identity)
{
	static const struct {
		bool plus;
		unsigned machine;
		const char *arch;
	} rows[] = {{false, 0x14c, "x86"}, {true, 0x8664, "x86_64"}, {true, 0xaa64, "arm64"},
		{false, 0x1c4, "arm"}, {true, 0x200, "unknown"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
		struct obj_slice s;

		header(rows[i / 2].plus, rows[i / 2].machine, i & 1 ? DLL : 0);
		section(".text", 0x1000, 0x400, 0x200, CODE);
		s = must();
		ck_assert_str_eq(s.format, "pe");
		ck_assert_str_eq(s.arch, rows[i / 2].arch);
		ck_assert_str_eq(s.module.code_id, "5ab380779000");
		ck_assert(debug_id_is_nil(&s.module.debug_id));
		ck_assert_int_eq(s.kind, i & 1 ? OBJ_LIBRARY : OBJ_EXECUTABLE);
		ck_assert_int_eq(s.module.object, OBJECT_PE);
		ck_assert_worth(s, "none");
		ck_assert(s.code);
		ck_assert_uint_eq(s.n_types, 1);
		ck_assert_int_eq(s.types[0], FILETYPE_PE);
	}
}
END_TEST

START_TEST(short_times)
{
	struct obj_slice s;

	library();
	put_at(HEADER + 8, 0x12, 4);
	put_at(OPTIONAL + 56, 0x400, 4);
	s = must();
	ck_assert_str_eq(s.module.code_id, "00000012400");
}
END_TEST

START_TEST(keys)
{
	struct err e;

	library();
	ck_assert_int_eq(check(FILETYPE_PE, "5AB380779000", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PE, "5ab380778000", &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is code id 5ab380779000, not 5ab380778000");
	ck_assert_int_eq(check(FILETYPE_PDB, "3249D99D0C4049318610F4E4FB0B69361", &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is pe, not pdb");
	ck_assert(obj_may_be(FILETYPE_PE, image.p, OBJ_HEAD));
	ck_assert(!obj_may_be(FILETYPE_PDB, image.p, OBJ_HEAD));
}
END_TEST

START_TEST(tables)
{
	struct obj_slice s;

	library();
	directory(EXPORTS, RDATA_RVA + 0x100, 0x40);
	s = must();
	ck_assert_worth(s, "none"); /* no export has a name */
	put_at(RDATA + 0x100 + 24, 3, 4);
	directory(EXCEPTIONS, RDATA_RVA + 0x140, 12);
	s = must();
	ck_assert_worth(s, "symbols=exports unwind");
	directory(EXPORTS, RDATA_RVA + RDATA_SIZE - 8, 0x40);
	directory(EXCEPTIONS, 0x80000000, 12);
	s = must();
	ck_assert_worth(s, "none");
}
END_TEST

/* Long names stand behind the symbols; a file without its code is a debug file. */
START_TEST(dwarf)
{
	for (unsigned hollow = 0; hollow < 2; hollow++) {
		struct obj_slice s;

		header(true, 0x8664, DLL);
		section(".text", 0x1000, hollow ? 0 : 0x400, hollow ? 0 : 0x200, CODE);
		section("/4", 0x3000, 0x600, 0x200, DATA);
		put_at(HEADER + 12, 0x800, 4);
		put_at(HEADER + 16, 2, 4);
		put_at(0x800 + 36, 16, 4);
		put_bytes(0x800 + 40, ".debug_info", 12);
		s = must();
		ck_assert_int_eq(s.kind, hollow ? OBJ_DEBUG : OBJ_LIBRARY);
		ck_assert_worth(s, "symbols=full debug=full");
		ck_assert_int_eq(s.code, !hollow);
		put_at(0x800 + 36, 4, 4); /* the table has no such name */
		s = must();
		ck_assert_worth(s, "symbols=full");
	}
}
END_TEST

START_TEST(packers)
{
	struct obj_slice s;

	library();
	section(".stub1", 0x4000, 0, 0, CODE);
	ck_assert_int_eq((s = must()).kind, OBJ_LIBRARY);
	section(".pdata", 0x5000, 0, 0, DATA);
	ck_assert_int_eq((s = must()).kind, OBJ_OTHER);
	ck_assert_uint_eq(s.n_types, 1);
}
END_TEST

/* ---- the debug directory ------------------------------------------------------------ */

START_TEST(pdb_of_it)
{
	static const struct {
		const char *path, *name;
	} rows[] = {{"C:\\projects\\x\\crash.pdb", "crash.pdb"}, {"/src/formats/obj/crash.pdb", "crash.pdb"},
		{"crash.pdb", "crash.pdb"}, {"", ""}, {"C:\\x\\", ""}, {"C:\\x\\..", ""},
		{"a\nb.pdb", ""}, {"C:\\mixed/\xc3\xa4 b.pdb", "\xc3\xa4 b.pdb"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct obj_slice s;

		library();
		codeview(0x9d, 0x1a, rows[i].path, 0, 0);
		s = must();
		object_debug_id(&s, "3249d99d-0c40-4931-8610-f4e4fb0b6936-1a");
		ck_assert_str_eq(s.module.debug_file, rows[i].name);
		ck_assert_str_eq(s.module.code_id, "5ab380779000");
		ck_assert_str_eq(s.module.checksum, "");
	}
}
END_TEST

START_TEST(long_paths)
{
	char path[1300];
	struct obj_slice s;

	memset(path, 'd', sizeof(path));
	memcpy(path + 1023 - 6, "\\x.pdb", 7);
	library();
	codeview(0x9d, 1, path, 0, 0);
	s = must();
	ck_assert_str_eq(s.module.debug_file, "x.pdb");
	memset(path, 'd', sizeof(path));
	memcpy(path + 1100, "\\x.pdb", 7);
	library();
	codeview(0x9d, 1, path, 0, 0);
	s = must();
	ck_assert_str_eq(s.module.debug_file, "");
	object_debug_id(&s, "3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
}
END_TEST

START_TEST(a_time_for_a_guid)
{
	struct obj_slice s;

	library();
	entry(CODEVIEW, 0, 0, "NB10\0\0\0\0\xc3\x89\x8e\x41\1\0\0\0c:\\old.pdb", 27);
	s = must();
	object_debug_id(&s, "418E89C3-1");
	ck_assert_str_eq(s.module.debug_file, "old.pdb");
	codeview(0x9d, 2, "new.pdb", 0, 0);
	s = must();
	object_debug_id(&s, "3249d99d-0c40-4931-8610-f4e4fb0b6936-2");
	ck_assert_str_eq(s.module.debug_file, "new.pdb");
}
END_TEST

/* A native PDB stands in front of the portable one in what was compiled ahead of time. */
START_TEST(several)
{
	for (unsigned clr = 0; clr < 2; clr++) {
		struct obj_slice s;

		library();
		if (clr)
			directory(CLR, RDATA_RVA + 0x100, 72);
		entry(CODEVIEW, 0, 0, "NB11, of which nobody knows anything", 36);
		codeview(0x9d, 7, "x.ni.pdb", 0, 0);
		codeview(0x11, 1, "x.pdb", 0xe60b819d, PORTABLE);
		codeview(0x22, 1, "y.pdb", 0xe60b819e, PORTABLE);
		s = must();
		object_debug_id(&s, clr ? "3249d911-0c40-4931-8610-f4e4fb0b6936-e60b819d"
					: "3249d99d-0c40-4931-8610-f4e4fb0b6936-7");
		ck_assert_str_eq(s.module.debug_file, clr ? "x.pdb" : "x.ni.pdb");
		ck_assert_int_eq(s.module.object, clr ? OBJECT_PE_DOTNET : OBJECT_PE);
	}
}
END_TEST

START_TEST(dotnet_with_another_pdb)
{
	library();
	directory(CLR, RDATA_RVA + 0x100, 72);
	ck_assert_int_eq(must().module.object, OBJECT_PE_DOTNET);
	codeview(0x9d, 1, "x.pdb", 5, 0);
	ck_assert_int_eq(must().module.object, OBJECT_PE);
	has_debug_id("3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
}
END_TEST

START_TEST(checksums)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *text;
	} rows[] = {
		{"SHA256\0" "0123456789abcdef", 23, "SHA256:30313233343536373839616263646566"},
		{"SHA256\0" "0123456789abcde", 22, ""}, {"SHA:\r\n\0" "0123456789abcdef", 23, ""},
		{"\0" "0123456789abcdef", 17, ""}, {"SHA256", 6, ""},
		{"ABCDEFGHIJKLMNOPQ\0" "0123456789abcdef", 34, ""},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct obj_slice s;

		library();
		entry(CHECKSUM, 0, 1, rows[i].bytes, rows[i].n);
		s = must();
		ck_assert_str_eq(s.module.checksum, rows[i].text);
	}
}
END_TEST

/* The entry's data is found by its place in memory, too; outside of the file it is none. */
START_TEST(places)
{
	library();
	codeview(0x9d, 1, "x.pdb", 0, 0);
	put_at(RDATA + 24, 0, 4);
	has_debug_id("3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
	put_at(RDATA + 20, 0x80000000, 4);
	has_debug_id("");
	put_at(RDATA + 24, 0xfffffff0, 4);
	has_debug_id("");
	put_at(RDATA + 16, 0xffffffff, 4);
	has_debug_id("");
}
END_TEST

/* ---- a PDB inside ------------------------------------------------------------------- */

/* The smallest with a row of line numbers: #Pdb and #~, in one stored block. */
static size_t packed_pdb(uint8_t *p)
{
	uint8_t pdb[256] = "BSJB\1\0\1\0\0\0\0\0\4\0\0\0v1\0\0\0\0\2\0";
	static const uint8_t heads[] = {56, 0, 0, 0, 32, 0, 0, 0, '#', 'P', 'd', 'b', 0, 0, 0, 0,
		88, 0, 0, 0, 32, 0, 0, 0, '#', '~', 0, 0};
	uint16_t n = 120;

	memcpy(pdb + 24, heads, sizeof(heads));
	pdb[88 + 14] = 2; /* table 0x31 is here, and has one row */
	pdb[88 + 24] = 1;
	memcpy(p, "MPDB", 4);
	memcpy(p + 4, (uint8_t[]){(uint8_t)n, 0, 0, 0, 1, (uint8_t)n, 0, (uint8_t)~n, 0xff}, 9);
	memcpy(p + 13, pdb, n);
	return 13 + n;
}

START_TEST(embedded)
{
	uint8_t p[512] = {0};
	size_t n = packed_pdb(p);
	struct obj_slice s;

	library();
	entry(EMBEDDED, 0, 0x100, p, n);
	s = must();
	ck_assert_worth(s, "debug=full");
	/* A broken or truncated PDB inside does not affect the program. */
	for (size_t i = 0; i < 64; i++) {
		p[i] ^= 0x5a;
		library();
		entry(EMBEDDED, 0, 0x100, p, n);
		must();
		p[i] ^= 0x5a;
	}
	for (size_t cut = 0; cut < n; cut++) {
		library();
		entry(EMBEDDED, 0, 0x100, p, cut);
		s = must();
		ck_assert_worth(s, "none");
	}
	p[7] = 0x7f; /* two billion bytes: too large to unpack */
	library();
	entry(EMBEDDED, 0, 0x100, p, n);
	s = must();
	ck_assert_worth(s, "debug=full");
}
END_TEST

/* ---- broken ------------------------------------------------------------------------- */

START_TEST(lies)
{
	library();
	image.p[HEADER] = 'N';
	broken("is a DOS program");
	library();
	put_at(0x3c, 0xfffffff0, 4);
	broken("before the end of its PE header");
	library();
	put_at(HEADER + 6, 4097, 2);
	broken("4097 sections");
	put_at(HEADER + 6, 4096, 2);
	broken("before the end of its section table");
	library();
	put_at(OPTIONAL, 0x107, 2);
	broken("kind 0x107");
	library();
	put_at(HEADER + 20, 60, 2);
	broken("60 bytes");
	library();
	image.n--;
	broken("is cut short: it has 5631 bytes, and needs 5632");
}
END_TEST

START_TEST(no_optional_header)
{
	struct obj_slice s;

	header(true, 0x8664, 0);
	put_at(HEADER + 20, 0, 2);
	s = must();
	ck_assert_str_eq(s.module.code_id, "");
	ck_assert_int_eq(s.kind, OBJ_OTHER);
	ck_assert_uint_eq(s.n_types, 0);
}
END_TEST

static void everything(void)
{
	uint8_t p[512];

	library();
	directory(EXPORTS, RDATA_RVA + 0x100, 0x40);
	put_at(RDATA + 0x100 + 24, 3, 4);
	directory(EXCEPTIONS, RDATA_RVA + 0x140, 12);
	directory(CLR, RDATA_RVA + 0x160, 72);
	codeview(0x9d, 7, "x.ni.pdb", 0, 0);
	codeview(0x11, 1, "x.pdb", 0xe60b819d, PORTABLE);
	entry(CHECKSUM, 0, 1, "SHA256\0" "0123456789abcdef", 23);
	entry(EMBEDDED, 0, 0x100, p, packed_pdb(p));
	section("/4", 0x8000, 0x1600, 0x100, DATA);
	put_at(HEADER + 12, 0x1700, 4);
	put_at(0x1700, 16, 4);
	put_bytes(0x1704, ".debug_info", 12);
}

START_TEST(every_field)
{
	everything();
	every_lie(2, 0x300);
	every_lie(RDATA, RDATA + 0x600);
	every_lie(0x1700, 0x1710);
}
END_TEST

/* Asked for by debug id, its own debug id counts, and nothing of it is known by the first block. */
START_TEST(by_debug_id)
{
	struct key k = {.type = FILETYPE_PE, .id = "3249D99D0C4049318610F4E4FB0B69361"};
	struct key has[OBJ_KEYS_MOST];
	struct obj_slice s;
	char text[KEY_TEXT];
	struct err e;

	library();
	codeview(0x9d, 1, "c:\\x\\crash.pdb", 0, 0);
	s = must();
	ck_assert_uint_eq(obj_keys(&s, has), 1); /* it does not know its name */
	ck_assert_str_eq(key_text(&has[0], text), "pe 3249D99D0C4049318610F4E4FB0B69361");
	snprintf(s.module.code_file, sizeof(s.module.code_file), "crash.dll");
	ck_assert_uint_eq(obj_keys(&s, has), 2);
	ck_assert_str_eq(key_text(&has[0], text), "pe 5ab380779000 crash.dll");
	ck_assert_int_eq(check(FILETYPE_PE, k.id, &e), 1);
	ck_assert_int_eq(check(FILETYPE_PE, "5ab380779000", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PE, "3249D99D0C4049318610F4E4FB0B69362", &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "is debug id 3249D99D0C4049318610F4E4FB0B69361"));
	object_prefixes_agree(image.p, image.n, &k, 0);
	library();
	ck_assert_int_eq(check(FILETYPE_PE, k.id, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "has no debug id"));
}
END_TEST

START_TEST(parts)
{
	struct key k = {.type = FILETYPE_PE, .id = "6ab380779000"};
	struct obj_slice s;
	struct err e;

	everything();
	object_prefixes_agree(image.p, image.n, NULL, 0);
	library();
	every_cut(7);
	/* Another build is known by its first block. */
	ck_assert_int_eq(object_part(image.p, 1024, VIEW_UNKNOWN, &k, 0, &s, &e), -EBADMSG);
	k.id[0] = '5';
	ck_assert_int_eq(object_part(image.p, 1024, VIEW_UNKNOWN, &k, 0, &s, &e), -EAGAIN);
}
END_TEST

UNIT_MAIN("pe", identity, short_times, keys, tables, dwarf, packers, pdb_of_it, long_paths,
	a_time_for_a_guid, several, dotnet_with_another_pdb, checksums, places, embedded, lies,
	no_optional_header, every_field, by_debug_id, parts)

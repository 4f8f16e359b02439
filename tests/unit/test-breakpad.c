/* Tests formats/obj/breakpad.c: unusual MODULE and INFO lines, features of small and large files, files of
 * which only the beginning is present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"
#include "worths.h"

#define GUID "C0BCC3F19827FE653058404B2831D9E6"
#define GUID_TEXT "c0bcc3f1-9827-fe65-3058-404b2831d9e6"

static struct obj_slice must(const char *text)
{
	return object_must(text, strlen(text), 0);
}

START_TEST(heads)
{
	static const struct {
		const char *text, *debug_id, *code_id, *debug_file, *code_file, *arch;
	} rows[] = {
		{"MODULE Linux x86_64 " GUID "0 crash\nPUBLIC 1 0 a\n", GUID_TEXT, "", "crash", "",
			"x86_64"},
		/* no age, an age of hex, a tail behind eight digits of age, PDB 2.0 */
		{"MODULE Linux x86_64 " GUID " crash\n", GUID_TEXT, "", "crash", "", "x86_64"},
		{"MODULE windows x86 " GUID "a a.pdb\n", GUID_TEXT "-a", "", "a.pdb", "", "x86"},
		{"MODULE Linux arm64 " GUID "123456789AB x\n", GUID_TEXT "-12345678", "", "x", "",
			"arm64"},
		{"MODULE windows x86 418E89C31 old.pdb\n", "418E89C3-1", "", "old.pdb", "", "x86"},
		/* CR, no name, a name with spaces, lower case, no end of the line at all */
		{"MODULE Linux x86_64 " GUID "0\r\nPUBLIC 1 0 a\r\n", GUID_TEXT, "", "", "", "x86_64"},
		{"MODULE mac x86_64 " GUID "0 Electron Helper (GPU)\r\n", GUID_TEXT, "",
			"Electron Helper (GPU)", "", "x86_64"},
		{"MODULE mac arm64e c0bcc3f19827fe653058404b2831d9e60 x", GUID_TEXT, "", "x", "",
			"arm64e"},
		{"MODULE Linux foobar " GUID "0 x\n", GUID_TEXT, "", "x", "", "unknown"},
		/* INFO: of another kind before it, an empty one, an odd number of digits, a name */
		{"MODULE windows x86 " GUID "1 a.pdb\nINFO GENERATOR x y\nINFO CODE_ID\n"
			"INFO CODE_ID 5AB38077900 a b.exe\n", GUID_TEXT "-1", "5ab38077900", "a.pdb",
			"a b.exe", "x86"},
		{"MODULE Linux x86 " GUID "0 x\nFILE 0 a.c\nINFO CODE_ID F1C3\n", GUID_TEXT, "", "x",
			"", "x86"},
		/* a path is no name */
		{"MODULE windows x86 " GUID "1 C:\\build\\a.pdb\n", GUID_TEXT "-1", "", "a.pdb", "",
			"x86"},
		{"MODULE Linux x86 " GUID "0 /lib/a.so\n", GUID_TEXT, "", "a.so", "", "x86"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct obj_slice s = must(rows[i].text);
		struct err e;

		object_debug_id(&s, rows[i].debug_id);
		ck_assert_str_eq(s.format, "breakpad");
		ck_assert_int_eq(s.kind, OBJ_DEBUG);
		ck_assert_str_eq(s.module.code_id, rows[i].code_id);
		ck_assert_str_eq(s.module.debug_file, rows[i].debug_file);
		ck_assert_str_eq(s.module.code_file, rows[i].code_file);
		ck_assert_str_eq(s.arch, rows[i].arch);
		ck_assert_int_eq(object_identify(rows[i].text, strlen(rows[i].text), 1, &s, &e), -ENOENT);
	}
}
END_TEST

START_TEST(systems)
{
	ck_assert_int_eq(must("MODULE windows x86 " GUID "1 a.pdb\n").module.object, OBJECT_PE);
	ck_assert_int_eq(must("MODULE Linux x86 " GUID "1 a\n").module.object, OBJECT_ELF);
	ck_assert_int_eq(must("MODULE Android arm " GUID "1 a\n").module.object, OBJECT_ELF);
	ck_assert_int_eq(must("MODULE mac arm64 " GUID "1 a\n").module.object, OBJECT_MACHO);
	ck_assert_int_eq(must("MODULE BeOS arm64 " GUID "1 a\n").module.object, OBJECT_UNKNOWN);
}
END_TEST

START_TEST(broken)
{
	object_broken("MODULE \n", 8, "no identifier");
	object_broken("MODULE Linux x86\n", 17, "no identifier");
	object_broken("MODULE Linux x86 C0BC x\n", 24, "4 digits");
	object_broken("MODULE Linux x86 (null)0000000000000000000 x\n", 45, "not hexadecimal");
}
END_TEST

/* Longer than what others read of a head, and longer than what is read here. */
START_TEST(long_heads)
{
	static char text[16384];
	struct obj_slice s;
	int n = snprintf(text, sizeof(text), "MODULE Linux x86_64 " GUID "0 %0250d\nINFO GENERATOR "
		"%01000d\nINFO CODE_ID F1C3BCC0\nFUNC 1 2 0 %05000d\n", 7, 7, 7);

	s = object_must(text, (size_t)n, 0);
	ck_assert_str_eq(s.module.code_id, "f1c3bcc0");
	ck_assert_uint_eq(strlen(s.module.debug_file), 250);
	ck_assert_worth(s, "symbols=full");
	n = snprintf(text, sizeof(text), "MODULE Linux x86_64 " GUID "0 %09000d\nINFO CODE_ID F1\n", 7);
	s = object_must(text, (size_t)n, 0);
	object_debug_id(&s, GUID_TEXT);
	ck_assert_str_eq(s.module.debug_file, "");
	ck_assert_str_eq(s.module.code_id, "");
}
END_TEST

START_TEST(worth)
{
	static const struct {
		const char *records, *worth;
	} rows[] = {
		{"", "none"},
		{"FUNC m 1 2 0 a\nFUNCTION 1\n", "symbols=full"},
		{"FUNC 1 2 0 a\n1 2 33 0\n", "debug=full"},
		{"FUNC 1 2 0 a\nDEADBEEF12345678 2 33 0\n", "debug=full"},
		{"FUNC 1 2 0 a\n1 2 33 0\nPUBLIC 9 0 b\n", "symbols=full debug=full"},
		{"FUNC 1 2 0 a\n1f23456789abcdef01234567 2 33 0\n", "symbols=full"},
		{"PUBLIC 1 0 FUNC\r\nSTACK CFI\n", "symbols=full unwind"},
		{"INFO FUNC \n FUNC\n", "none"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256];
		struct obj_slice s;

		snprintf(text, sizeof(text), "MODULE Linux x86 " GUID "0 a\n%s", rows[i].records);
		s = must(text);
		ck_assert_worth(s, rows[i].worth);
	}
}
END_TEST

static size_t fill(char *p, size_t at, size_t until, const char *line)
{
	while (at + strlen(line) <= until) {
		memcpy(p + at, line, strlen(line));
		at += strlen(line);
	}
	return at;
}

/* Ten megabytes: files, then functions with their lines, then unwinding at the very end. */
START_TEST(a_large_file_is_sampled)
{
	size_t size = 10u << 20;
	_cleanup_free_ char *p = malloc(size);
	size_t n = fill(p, 0, 64, "MODULE Linux x86 " GUID "0 a\n");
	struct obj_slice s;

	n = fill(p, n, 3u << 20, "FILE 7 /some/where/STACK/file.c\n");
	n = fill(p, n, size - 4096, "FUNC 1000 20 0 PUBLIC\n1000 10 7 3\n1010 10 8 3\n");
	n = fill(p, n, size, "STACK CFI INIT 1000 20 .cfa: $rsp 8 +\n");
	s = object_must(p, n, 0);
	ck_assert_worth(s, "debug=full unwind");
}
END_TEST

START_TEST(keys)
{
	static const char text[] = "MODULE Linux x86 " GUID "0 a\nINFO CODE_ID F1C3\n";
	static const char windows[] = "MODULE windows x86 " GUID "0 a\nINFO CODE_ID F1C3\n";
	struct key all[OBJ_KEYS_MOST];
	struct obj_slice s;
	struct err e;

	ck_assert_int_eq(object_check(text, strlen(text), FILETYPE_BREAKPAD, GUID "0", &s, &e), 1);
	ck_assert_int_eq(object_check(text, strlen(text), FILETYPE_BREAKPAD,
		"c0bcc3f19827fe653058404b2831d9e60", &s, &e), 1);
	ck_assert_int_eq(object_check(text, strlen(text), FILETYPE_BREAKPAD, GUID "1", &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is debug id " GUID "0, not " GUID "1");
	ck_assert_int_eq(object_check(text, strlen(text), FILETYPE_PDB, GUID "0", &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is breakpad, not pdb");
	ck_assert_int_eq(object_check("<html>", 6, FILETYPE_BREAKPAD, GUID "0", &s, &e), -EBADMSG);
	/* Asked for by the build id, which paths read as that of a little-endian file. */
	ck_assert_int_eq(object_check(text, strlen(text), FILETYPE_BREAKPAD,
		"0000C3F10000000000000000000000000", &s, &e), 1);
	ck_assert_uint_eq(obj_keys(&s, all), 2);
	ck_assert_str_eq(all[0].id, GUID "0");
	ck_assert_str_eq(all[1].id, "0000C3F10000000000000000000000000");
	ck_assert_int_eq(object_check(windows, strlen(windows), FILETYPE_BREAKPAD,
		"0000C3F10000000000000000000000000", &s, &e), -EBADMSG);
	ck_assert_int_eq(object_check(windows, strlen(windows), FILETYPE_BREAKPAD, GUID "0", &s, &e), 1);
	ck_assert_uint_eq(obj_keys(&s, all), 1);
	ck_assert(obj_may_be(FILETYPE_BREAKPAD, text, 64));
	ck_assert(!obj_may_be(FILETYPE_BREAKPAD, "Not Found", 9));
}
END_TEST

START_TEST(prefixes_agree)
{
	static const char *const texts[] = {
		"MODULE windows x86 " GUID "1 a.pdb\r\nINFO GENERATOR x y\r\nINFO CODE_ID 5AB3 a.exe\r\n"
		"FILE 0 a.c\r\nFUNC 1 2 0 a\r\nSTACK WIN 4\r\n",
		"MODULE Linux x86 " GUID "0 a\nINFOS\nINFO CODE_ID F1\n",
		"MODULE Linux x86 " GUID "0 a", "MODULE Linux", "MODULE Linux x86 zz\n"};
	struct key k = {.type = FILETYPE_BREAKPAD, .id = GUID "1"};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		object_prefixes_agree((const uint8_t *)texts[i], strlen(texts[i]), NULL, 0);
		object_prefixes_agree((const uint8_t *)texts[i], strlen(texts[i]), &k, 0);
	}
}
END_TEST

UNIT_MAIN("breakpad", heads, systems, broken, long_heads, worth, a_large_file_is_sampled,
	keys, prefixes_agree)

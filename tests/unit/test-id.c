/* Tests id/: debug ids, code ids, keys. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/key.h"
#include "base/hash.h"
#include "base/util.h"
#include "table.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

START_TEST(debug_id_forms)
{
	static const struct {
		const char *in, *text, *breakpad;
	} rows[] = {
		{"3249d99d-0c40-4931-8610-f4e4fb0b6936-1", "3249d99d-0c40-4931-8610-f4e4fb0b6936-1",
			"3249D99D0C4049318610F4E4FB0B69361"},
		{"3249D99D0C4049318610F4E4FB0B6936a", "3249d99d-0c40-4931-8610-f4e4fb0b6936-a",
			"3249D99D0C4049318610F4E4FB0B6936a"},
		{"3249d99d0c4049318610f4e4fb0b69360", "3249d99d-0c40-4931-8610-f4e4fb0b6936",
			"3249D99D0C4049318610F4E4FB0B69360"},
		{"418E89C31", "418E89C3-1", "418E89C31"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct debug_id d;
		char room[DEBUG_ID_TEXT];

		ck_assert_int_eq(debug_id_parse(&d, rows[i].in, strlen(rows[i].in)), 0);
		ck_assert_str_eq(debug_id_text(&d, room), rows[i].text);
		ck_assert_str_eq(debug_id_breakpad(&d, room), rows[i].breakpad);
	}
}
END_TEST

START_TEST(debug_id_refuses)
{
	static const char *const rows[] = {"", "3249", "3249d99d0c4049318610f4e4fb0b693",
		"3249d99d0c4049318610f4e4fb0bzz361", "3249d99d0c4049318610f4e4fb0b6936x"};
	struct debug_id d;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_int_eq(debug_id_parse(&d, rows[i], strlen(rows[i])), -EINVAL);
}
END_TEST

START_TEST(debug_id_of_build_id)
{
	uint8_t id[20];
	struct debug_id d;
	char room[DEBUG_ID_TEXT];

	ck_assert_int_eq(hex_read("f1c3bcc0279865fe3058404b2831d9e64135386c", 40, id), 0);
	debug_id_from_build_id(&d, id, 20, false);
	ck_assert_str_eq(debug_id_text(&d, room), "c0bcc3f1-9827-fe65-3058-404b2831d9e6");
	debug_id_from_build_id(&d, id, 20, true);
	ck_assert_str_eq(debug_id_text(&d, room), "f1c3bcc0-2798-65fe-3058-404b2831d9e6");
	hex_read("1122334455667788", 16, id);
	debug_id_from_build_id(&d, id, 8, false);
	ck_assert_str_eq(debug_id_text(&d, room), "44332211-6655-8877-0000-000000000000");
}
END_TEST

static struct key key_from(const char *text)
{
	struct key k;

	ck_assert_int_eq(key_parse(&k, text), 0);
	return k;
}

START_TEST(key_round_trip)
{
	static const char *const rows[] = {
		"elf_debug dfb85de42daffd09640c8fe377d572de3e168920",
		"elf_code dfb85de42daffd09640c8fe377d572de3e168920 libm-2.23.so",
		"pe 5ab380779000 crash one.exe",
		"pdb 3249D99D0C4049318610F4E4FB0B69361 crash.pdb",
		"pe 3249D99D0C4049318610F4E4FB0B69361",
		"pe 3249D99D0C4049318610F4E4FB0B6936e60b819d crash one.exe",
		"elf_code 3249D99D0C4049318610F4E4FB0B69360 prog",
		"elf_debug 3249D99D0C4049318610F4E4FB0B69360",
		"source dfb85de42daffd09640c8fe377d572de3e168920 /a b/c.c",
		"breakpad 3249D99D0C4049318610F4E4FB0B69361 a.so",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct key k = key_from(rows[i]), again;
		struct artifact a;
		char room[KEY_TEXT];

		ck_assert_str_eq(key_text(&k, room), rows[i]);
		key_artifact(&k, &a);
		ck_assert_int_eq(key_of(&again, &a), 0);
		ck_assert_str_eq(key_text(&again, room), rows[i]);
		ck_assert(key_equal(&k, &again));
	}
}
END_TEST

START_TEST(key_identity)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"elf_code aabbccdd x", "elf_code AABBCCDD y", true},
		{"elf_code aabbccdd", "elf_debug aabbccdd", false},
		{"elf_code aabbccdd", "elf_code aabbccdd00", false}, /* too short to be filled up */
		{"elf_code 11223344556677889900aabbccddeeff",
			"elf_code 11223344556677889900aabbccddeeff00000000", true},
		{"pe 5ab380779000 a.exe", "pe 5ab380779000 A.EXE", true},
		{"pe 5ab380779000 a.exe", "pe 5ab380779000 b.exe", false},
		{"pdb 3249D99D0C4049318610F4E4FB0B69361 a.pdb",
			"pdb 3249D99D0C4049318610F4E4FB0B69361 b.pdb", true},
		/* No identifier: files that have none in common. */
		{"breakpad 000000000000000000000000000000000 a.so", "breakpad 000000000000000000000000000000000 b.so",
			false},
		{"breakpad 000000000000000000000000000000000 a.so", "breakpad 000000000000000000000000000000000 A.so",
		true},
		{"breakpad 000000000000000000000000000000001 a.so", "breakpad 000000000000000000000000000000001 b.so",
		true},
		/* Further files of one id have their name in the key. */
		{"breakpad 3249D99D0C4049318610F4E4FB0B69361= a.so",
			"breakpad 3249D99D0C4049318610F4E4FB0B69361= A.so", true},
		{"breakpad 3249D99D0C4049318610F4E4FB0B69361= a.so",
		"breakpad 3249D99D0C4049318610F4E4FB0B69361= b.so", false},
		{"breakpad 3249D99D0C4049318610F4E4FB0B69361= a.so",
		"breakpad 3249D99D0C4049318610F4E4FB0B69361 a.so", false},
		{"source aabb /a/B.c", "source aabb /a/b.c", false},
		{"portablepdb 3249D99D0C4049318610F4E4FB0B6936ffffffff a.pdb",
			"portablepdb 3249D99D0C4049318610F4E4FB0B6936e60b819d", true},
		{"pdb 3249D99D0C4049318610F4E4FB0B69361", "pdb 3249D99D0C4049318610F4E4FB0B69362", false},
		{"breakpad 3249D99D0C4049318610F4E4FB0B69361", "pdb 3249D99D0C4049318610F4E4FB0B69361", false},
		{"sourcebundle 3249D99D0C4049318610F4E4FB0B6936ffffffff",
			"sourcebundle 3249D99D0C4049318610F4E4FB0B6936e60b819d", true},
		{"sourcebundle 3249D99D0C4049318610F4E4FB0B69361",
			"sourcebundle 3249D99D0C4049318610F4E4FB0B69362", false},
		/* By debug id the name does not count, and nothing is filled up. */
		{"pe 3249D99D0C4049318610F4E4FB0B69361", "pe 3249d99d0c4049318610f4e4fb0b69361 b.exe", true},
		{"pe 3249D99D0C4049318610F4E4FB0B69361", "pe 3249D99D0C4049318610F4E4FB0B69362", false},
		{"pe 3249D99D0C4049318610F4E4FB0B6936ffffffff",
			"pe 3249D99D0C4049318610F4E4FB0B6936e60b819d", true},
		{"elf_code 3249D99D0C4049318610F4E4FB0B69360",
			"elf_code 3249D99D0C4049318610F4E4FB0B693600000000", false},
		{"companion 5ab380779000 sos.dll", "companion 5ab380779000 mscordbi.dll", false},
		/* The size in the id of a PE file, filled up with zeros; an ELF file has no size there. */
		{"pe 542d5742000f2000 foo.exe", "pe 542D5742f2000 foo.exe", true},
		{"pe 542d57420f2000 foo.exe", "pe 542D5742f2000 foo.exe", true},
		{"pe 542d574200000000 foo.exe", "pe 542D57420 foo.exe", true},
		{"pe 542d5742000f2000 foo.exe", "pe 542D5742f200 foo.exe", false},
		{"companion 542d5742000f2000 sos.dll", "companion 542D5742f2000 sos.dll", true},
		{"elf_code 542d5742000f2000", "elf_code 542d5742f2000", false},
		/* The id of a unit is no build id, which is filled up. */
		{"elf_dwo 0123456789ABCDEF", "elf_dwo 0123456789abcdef a.dwo", true},
		{"elf_dwo 0123456789abcdef", "elf_dwo 0123456789abcdef000000000000000000000000", false},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct key a = key_from(rows[i].a), b = key_from(rows[i].b);

		ck_assert_msg(key_equal(&a, &b) == rows[i].same, "%s / %s", rows[i].a, rows[i].b);
		ck_assert((key_number(&a) == key_number(&b)) == rows[i].same);
		ck_assert(key_number(&a) > 1);
	}
}
END_TEST

static void check_key(const struct artifact *a, const char *want)
{
	char room[KEY_TEXT];
	struct key k;

	ck_assert_int_eq(key_of(&k, a), 0);
	ck_assert_str_eq(key_text(&k, room), want);
}

/* What a key lacks follows from another identifier, where there is a rule. */
START_TEST(key_names)
{
	struct key k = key_from("breakpad 3249D99D0C4049318610F4E4FB0B69361 a.so"), named, again;
	char room[KEY_TEXT];

	ck_assert(key_by_name(&k, &named));
	ck_assert_str_eq(key_text(&named, room), "breakpad 3249D99D0C4049318610F4E4FB0B69361= a.so");
	again = key_from(room);
	ck_assert(key_equal(&again, &named) && !key_equal(&again, &k));
	ck_assert(!key_by_name(&named, &again));
	k = key_from("breakpad 3249D99D0C4049318610F4E4FB0B69361");
	ck_assert(!key_by_name(&k, &named));
	k = key_from("pdb 3249D99D0C4049318610F4E4FB0B69361 a.pdb");
	ck_assert(!key_by_name(&k, &named));
}
END_TEST

START_TEST(key_follows)
{
	struct artifact a = {.type = FILETYPE_MACH_DEBUG, .m.object = OBJECT_MACHO};
	struct key k;

	debug_id_parse(&a.m.debug_id, "67e9247c814e392ba027dbde6748fcbf", 32);
	check_key(&a, "mach_debug 67e9247c814e392ba027dbde6748fcbf");
	a = (struct artifact){.type = FILETYPE_BREAKPAD, .m = {.object = OBJECT_MACHO,
		.code_id = "67e9247c814e392ba027dbde6748fcbf"}};
	check_key(&a, "breakpad 67E9247C814E392BA027DBDE6748FCBF0");
	a.m.object = OBJECT_ELF;
	check_key(&a, "breakpad 7C24E9674E812B39A027DBDE6748FCBF0");
	a.m.object = OBJECT_PE;
	ck_assert_int_eq(key_of(&k, &a), -ENOENT);
	a = (struct artifact){.type = FILETYPE_MACH_CODE, .m = {.object = OBJECT_MACHO, .code_id = "aabb"}};
	ck_assert_int_eq(key_of(&k, &a), -ENOENT); /* that is no UUID */
	a = (struct artifact){.type = FILETYPE_PDB};
	debug_id_parse(&a.m.debug_id, "3249D99D0C4049318610F4E4FB0B6936FFFFFFFF", 40);
	check_key(&a, "portablepdb 3249D99D0C4049318610F4E4FB0B6936ffffffff");
}
END_TEST

/* A debug id stands in only where there is no code id, and where it cannot be taken for one. */
START_TEST(key_by_debug_id)
{
	struct artifact a = {.type = FILETYPE_PE};
	struct key k;

	debug_id_parse(&a.m.debug_id, "3249D99D0C4049318610F4E4FB0B69361", 33);
	check_key(&a, "pe 3249D99D0C4049318610F4E4FB0B69361");
	ck_assert_int_eq(key_of(&k, &a), 0);
	ck_assert(key_is_by_debug_id(&k));
	snprintf(a.m.code_id, sizeof(a.m.code_id), "5ab380779000");
	ck_assert_int_eq(key_of(&k, &a), -ENOENT); /* and that wants a name */
	snprintf(a.m.code_file, sizeof(a.m.code_file), "crash.exe");
	check_key(&a, "pe 5ab380779000 crash.exe");
	ck_assert_int_eq(key_of(&k, &a), 0);
	ck_assert(!key_is_by_debug_id(&k));
	a.m.code_id[0] = '\0';
	debug_id_parse(&a.m.debug_id, "418E89C31", 9);
	ck_assert_int_eq(key_of(&k, &a), -ENOENT);
	debug_id_parse(&a.m.debug_id, "000000000000000000000000000000000", 33);
	ck_assert_int_eq(key_of(&k, &a), -ENOENT);
	a.type = FILETYPE_ELF_DEBUG;
	debug_id_parse(&a.m.debug_id, "3249D99D0C4049318610F4E4FB0B69361", 33);
	ck_assert_int_eq(key_of(&k, &a), -ENOENT); /* an ELF file has no age */
	a.m.debug_id.age = 0;
	check_key(&a, "elf_debug 3249D99D0C4049318610F4E4FB0B69360 crash.exe");
	a.type = FILETYPE_SOURCE;
	snprintf(a.m.path, sizeof(a.m.path), "/a.c");
	ck_assert_int_eq(key_of(&k, &a), -ENOENT);
}
END_TEST

START_TEST(module_texts)
{
	struct module m = {.object = OBJECT_ELF, .code_id = "f1c3bcc0279865fe3058404b2831d9e6"};
	char text[MODULE_ID_TEXT];
	struct debug_id d;

	ck_assert_str_eq(module_code_text(&m, text), "f1c3bcc0279865fe3058404b2831d9e600000000");
	ck_assert_str_eq(module_debug_text(&m, text), "");
	debug_id_parse(&m.debug_id, "3249D99D0C4049318610F4E4FB0B6936a", 33);
	ck_assert_str_eq(module_debug_text(&m, text), "3249d99d0c4049318610f4e4fb0b6936a");
	m.object = OBJECT_PE_DOTNET;
	ck_assert_str_eq(module_debug_text(&m, text), "3249d99d0c4049318610f4e4fb0b6936");
	ck_assert_int_eq(debug_id_parse(&d, "c0bcc3f1-9827-fe65-3058-404b2831d9e6", 36), 0);
	ck_assert(module_ids_fit("f1c3bcc0279865fe3058404b2831d9e64135386c", &d));
	debug_id_parse(&d, "f1c3bcc0-2798-65fe-3058-404b2831d9e6", 36);
	ck_assert(module_ids_fit("f1c3bcc0279865fe3058404b2831d9e64135386c", &d));
	debug_id_parse(&d, "f1c3bcc0-2798-65fe-3058-404b2831d9e6-1", 38);
	ck_assert(!module_ids_fit("f1c3bcc0279865fe3058404b2831d9e64135386c", &d));
	ck_assert(!module_ids_fit("", &d) && !module_ids_fit("abc", &d));
}
END_TEST

START_TEST(key_refuses)
{
	static const char *const rows[] = {"", "elf_debug", "nothing aabb", "elf_debug xyz", "elf_debug ",
		"source aabb", "none aabb", "breakpad 000000000000000000000000000000000"};
	struct key k;
	char longest[400] = "elf_debug ";

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_int_eq(key_parse(&k, rows[i]), -EINVAL);
	memset(longest + 10, 'a', 300);
	ck_assert_int_eq(key_parse(&k, longest), -EINVAL);
}
END_TEST

/* What other tables take for granted of each row. */
START_TEST(type_rows)
{
	for (unsigned t = 1; t < FILETYPES; t++) {
		const struct filetype_row *row = &filetypes[t], *twin = &filetypes[row->twin];

		ck_assert_msg(row->name && row->id_word, "type %u has no row", t);
		ck_assert_int_eq(filetype_find(row->name), t);
		if (row->name_from == NAME_PATH)
			ck_assert(row->flags & TYPE_NAME_COUNTS);
		if (row->flags & TYPE_ANY_BYTES)
			ck_assert(row->flags & TYPE_ANONYMOUS && row->flags & TYPE_ANY_PACKING);
		if (row->twin == FILETYPE_NONE)
			continue;
		ck_assert_int_eq(twin->twin, t);
		ck_assert(row->object == twin->object && row->id == twin->id && row->name_from == twin->name_from);
		ck_assert_int_eq((row->flags ^ twin->flags), TYPE_PROGRAM | TYPE_DEBUG_FILE);
		ck_assert_int_eq(object_types[row->object].program, row->flags & TYPE_PROGRAM ? t : row->twin);
		ck_assert_int_eq(object_types[row->object].debug, row->flags & TYPE_DEBUG_FILE ? t : row->twin);
	}
	ck_assert_int_eq(filetypes[FILETYPE_NONE].flags, 0);
}
END_TEST

/* The types that a flag is for, as fetch/, http/ and layout/ need them. */
START_TEST(type_flags)
{
	static const struct {
		enum filetype_flag flag;
		const char *types;
	} rows[] = {
		{TYPE_RANDOM, "elf_code elf_debug mach_code mach_debug pe pdb"},
		{TYPE_CAB, "pe pdb"},
		{TYPE_TEXT, "breakpad source sym"},
		{TYPE_LEARNS, "pe pdb portablepdb breakpad sourcebundle il2cpp"},
		{TYPE_GSYM_FROM, "elf_code elf_debug mach_code mach_debug pe pdb wasm_code wasm_debug breakpad"},
		{TYPE_ANONYMOUS, "uuidmap bcsymbolmap il2cpp source section companion"},
		{TYPE_ANY_BYTES, "source section"},
		{TYPE_ANY_PACKING, "source section companion"},
		{TYPE_NAME_COUNTS, "pe source section gsym sym companion"},
		{TYPE_MADE, "gsym sym"},
		{TYPE_SEVERAL, "breakpad"},
		{TYPE_PE_ID, "pe companion"},
		{TYPE_PROGRAM, "elf_code mach_code pe wasm_code"},
		{TYPE_DEBUG_FILE, "elf_debug mach_debug wasm_debug"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char have[400] = "";

		for (unsigned t = 1; t < FILETYPES; t++)
			if (filetypes[t].flags & rows[i].flag)
				snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%s", have[0] ? " " : "",
					filetypes[t].name);
		ck_assert_str_eq(have, rows[i].types);
	}
}
END_TEST

START_TEST(object_rows)
{
	for (unsigned o = 1; o < OBJECT_TYPES; o++) {
		const struct object_row *row = &object_types[o];

		ck_assert_int_eq(object_type_find(row->name), o);
		ck_assert(filetypes[row->program].flags & TYPE_PROGRAM);
		ck_assert(!(filetypes[row->debug].flags & TYPE_PROGRAM));
		ck_assert(row->debug != FILETYPE_NONE);
	}
	ck_assert_int_eq(object_types[OBJECT_UNKNOWN].debug, FILETYPE_NONE);
}
END_TEST

/* ---- our own table ------------------------------------------------------------------- */

/* A module with the code id or debug id `text`. */
static struct module module_from(const char *object, const char *code, const char *debug)
{
	struct module m = {.object = object_type_find(object)};

	if (code)
		module_set_code_id(&m, code, strlen(code));
	if (debug)
		debug_id_parse(&m.debug_id, debug, strlen(debug));
	return m;
}

static const char *parsed(const char *rule, const char *text, char room[static MODULE_ID_TEXT])
{
	struct debug_id d;

	if (debug_id_parse(&d, text, strlen(text)) < 0)
		return "(none)";
	return strcmp(rule, "text") == 0 ? debug_id_text(&d, room) : debug_id_breakpad(&d, room);
}

static const char *from_guid(const char *age, const char *text, char room[static MODULE_ID_TEXT])
{
	struct debug_id d;
	uint8_t raw[16];

	ck_assert_int_eq(hex_read(text, 32, raw), 0);
	debug_id_from_guid(&d, raw, (uint32_t)strtoul(age, NULL, 16));
	return debug_id_text(&d, room);
}

static const char *follows(const char *of, const char *code, char room[static MODULE_ID_TEXT])
{
	bool big = strcmp(of, "elf-big") == 0;
	struct module m = module_from(big ? "elf" : of, code, NULL);
	struct debug_id d;

	return module_debug_id(&m, big, &d) < 0 ? "(none)" : debug_id_text(&d, room);
}

static const char *uuid_of(const char *of, const char *text, char room[static MODULE_ID_TEXT])
{
	bool code = strcmp(of, "code") == 0;
	struct module m = module_from("macho", code ? text : NULL, code ? NULL : text);

	return module_uuid(&m, room) < 0 ? "(none)" : room;
}

static const char *looked_up(const char *rule, const char *of, const char *text, char room[static MODULE_ID_TEXT])
{
	bool code = strcmp(rule, "code") == 0;
	struct module m = module_from(of, code ? text : NULL, code ? NULL : text);
	const char *have = code ? module_code_text(&m, room) : module_debug_text(&m, room);

	return have[0] ? have : "-";
}

static const char *refuse(const char *of, const char *text)
{
	struct module m = {0};
	int r = strcmp(of, "code") == 0 ? module_set_code_id(&m, text, strlen(text))
					: debug_id_parse(&m.debug_id, text, strlen(text));

	return r == -EINVAL ? "-" : "it is accepted";
}

static void check_row(char *const column[static TABLE_COLUMNS])
{
	const char *rule = column[0], *of = column[1], *in = column[2], *want = column[3], *have;
	char room[MODULE_ID_TEXT];

	if (strcmp(rule, "same") == 0 || strcmp(rule, "other") == 0) {
		struct key a = key_from(of), b = key_from(in);

		want = rule;
		have = key_equal(&a, &b) ? "same" : "other";
	} else if (strcmp(rule, "fits") == 0) {
		struct module m = module_from("elf", NULL, in);

		have = module_ids_fit(of, &m.debug_id) ? "yes" : "no";
	} else if (strcmp(rule, "text") == 0 || strcmp(rule, "breakpad") == 0) {
		have = parsed(rule, in, room);
	} else if (strcmp(rule, "guid") == 0) {
		have = from_guid(of, in, room);
	} else if (strcmp(rule, "debug") == 0) {
		have = follows(of, in, room);
	} else if (strcmp(rule, "uuid") == 0) {
		have = uuid_of(of, in, room);
	} else if (strcmp(rule, "refused") == 0) {
		have = refuse(of, in);
	} else {
		ck_assert_msg(strcmp(rule, "code") == 0 || strcmp(rule, "lookup") == 0, "no rule %s", rule);
		have = looked_up(rule, of, in, room);
	}
	ck_assert_msg(strcmp(have, want) == 0, "%s %s %s: %s, not %s", rule, of, in, have, want);
}

START_TEST(own_table)
{
	ck_assert_uint_ge(table_each("ids", check_row), 80);
}
END_TEST

UNIT_MAIN("id", debug_id_forms, debug_id_refuses, debug_id_of_build_id, key_round_trip, key_identity,
	key_names, key_follows, key_by_debug_id, module_texts, key_refuses, type_rows, type_flags, object_rows,
	own_table)

/* Tests layout/: every row is printed and read back; and the meaning of paths in the mount. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/obj.h"
#include "names/id/key.h"
#include "names/layout/layouts.h"
#include "names/layout/tree.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"

#define UUID "67e9247c814e392ba027dbde6748fcbf"
#define DASHED "67E9247C-814E-392B-A027-DBDE6748FCBF"
#define NIL "00000000000000000000000000000000"
#define GUID "3249D99D0C4049318610F4E4FB0B6936"

/* What the files of one type and one kind of module are called and go by. */
static const struct sample {
	enum object_type object;
	enum filetype type; /* FILETYPE_NONE: any other */
	const char *code_id, *code_file, *debug_id, *debug_file;
} samples[] = {
	{OBJECT_ELF, FILETYPE_COMPANION, ID, "libmscordaccore.so", "", ""},
	{OBJECT_MACHO, FILETYPE_COMPANION, UUID, "libmscordaccore.dylib", "", ""},
	{OBJECT_PE, FILETYPE_COMPANION, "5ab380779000", "mscordaccore.dll", "", ""},
	{OBJECT_UNKNOWN, FILETYPE_PERFMAP, "", "", GUID "1", "Core.ni.r2rmap"},
	{OBJECT_ELF, 0, ID, "libM-2.23.so", "e45db8dfaf2d09fd640c8fe377d572de0", "libM-2.23.so"},
	{OBJECT_MACHO, 0, UUID, "AppKit", UUID "0", "AppKit"},
	{OBJECT_PE, 0, "5ab380779000", "Crash.exe", GUID "a", "Crash.pdb"},
	{OBJECT_PE_DOTNET, 0, "5ab380779000", "Net.dll", GUID "e60b819d", "Net.pdb"},
	{OBJECT_WASM, 0, UUID, "demo.wasm", UUID "0", "demo.wasm"},
	{OBJECT_UNKNOWN, 0, "", "", GUID "a", "Crash.pdb"}, /* what a key tells */
};

static struct artifact sample_of(const struct sample *s, enum filetype type, enum object_type object)
{
	struct artifact a = {.type = type, .m.object = object};

	snprintf(a.m.code_id, sizeof(a.m.code_id), "%s", s->code_id);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "%s", s->code_file);
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "%s", s->debug_file);
	if (*s->debug_id)
		ck_assert_int_eq(debug_id_parse(&a.m.debug_id, s->debug_id, strlen(s->debug_id)), 0);
	if (type == FILETYPE_SOURCE)
		snprintf(a.m.path, sizeof(a.m.path), "/usr/src/a b.c");
	if (type == FILETYPE_SECTION)
		snprintf(a.m.path, sizeof(a.m.path), ".debug_info");
	return a;
}

static struct artifact sample(enum filetype type, enum object_type object)
{
	for (unsigned i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct sample *s = &samples[i];

		if (s->object == object && (!s->type || s->type == type))
			return sample_of(s, type, object);
	}
	ck_abort_msg("no sample");
	return (struct artifact){0};
}

static bool among(const struct layout_hit *hit, const struct artifact *a)
{
	struct key want, have;

	ck_assert_int_eq(key_of(&want, a), 0);
	for (unsigned i = 0; i < hit->n; i++)
		if (key_of(&have, &hit->files[i]) == 0 && key_equal(&want, &have))
			return true;
	return false;
}

static void flip_case(char *p, unsigned seed)
{
	for (; *p; p++, seed = seed * 1103515245 + 12345)
		if (seed >> 16 & 1)
			*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
}

/* A path of a layout, in three casings of the printer and ten random ones, means its artifact;
 * and each of its beginnings is a directory. */
static void walk_path(const struct layout *l, const struct artifact *a, struct buf *path)
{
	bool named = a->type == FILETYPE_SOURCE || a->type == FILETYPE_SECTION;
	struct artifact by_debug = *a;
	struct layout_hit hit;

	/* Its path has the debug id of a PE file, and there is nothing to tell the code id from. */
	if (a->type == FILETYPE_PE && strcmp(l->name, "unified") == 0) {
		by_debug.m.code_id[0] = '\0';
		a = &by_debug;
	}
	for (unsigned seed = 0; seed < (named ? 1 : 10); seed++) {
		layout_parse(l, path->p, &hit);
		ck_assert_msg(hit.what & LAYOUT_FILE, "%s %s", l->name, path->p);
		ck_assert_msg(among(&hit, a), "%s %s", l->name, path->p);
		flip_case(path->p, seed);
	}
	for (char *slash; (slash = strrchr(path->p, '/'));) {
		*slash = '\0';
		layout_parse(l, path->p, &hit);
		ck_assert_msg(hit.what & LAYOUT_DIR, "%s %s", l->name, path->p);
	}
}

/* What cannot be read back: a path that says less than a key, or that other files have a better
 * claim to. */
static bool is_one_way(const struct layout *l, const struct artifact *a)
{
	return strcmp(l->name, "slashsymbols") == 0 &&
		(a->type == FILETYPE_PDB || a->type == FILETYPE_PORTABLEPDB || a->type == FILETYPE_BREAKPAD ||
			a->type == FILETYPE_SOURCEBUNDLE || a->type == FILETYPE_UUIDMAP ||
			a->type == FILETYPE_BCSYMBOLMAP || a->type == FILETYPE_IL2CPP);
}

static unsigned walk_artifact(const struct layout *l, const struct artifact *a)
{
	static const enum casing casings[] = {CASING_DEFAULT, CASING_LOWER, CASING_UPPER};
	bool named = a->type == FILETYPE_SOURCE || a->type == FILETYPE_SECTION;
	unsigned nth = 0;

	for (unsigned c = 0; c < (named ? 1 : ARRAY_SIZE(casings)); c++)
		for (nth = 0;; nth++) {
			_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
			struct layout_spelling spelling;

			if (layout_server_path(l, a, casings[c], nth, &path, &spelling) < 0)
				break;
			/* The mount has no compressed files. */
			if (!spelling.compressed && !is_one_way(l, a))
				walk_path(l, a, &path);
		}
	return nth;
}

START_TEST(every_row)
{
	unsigned rows = 0, printed = 0;

	for (const struct layout *l = layouts; l->name; l++)
		for (const struct layout_row *row = l->rows; row->pattern; row++) {
			struct artifact a = sample(row->type, row->object);

			rows++;
			printed += walk_artifact(l, &a);
		}
	ck_assert_uint_ge(rows, 150);
	ck_assert_uint_ge(printed, rows);
}
END_TEST

struct back {
	const struct layout *l;
	const struct artifact *a;
};

static int reads_back(void *ctx, unsigned row, const char *path)
{
	const struct back *b = ctx;
	struct layout_hit hit;

	layout_parse(b->l, path, &hit);
	ck_assert_msg(among(&hit, b->a), "%s %s", b->l->name, path);
	return 0;
}

static unsigned listed_of(const struct artifact *a)
{
	unsigned n = 0;
	struct key k;

	if (key_of(&k, a) < 0)
		return 0;
	for (const struct layout *l = layouts; l->name; l++, n++)
		ck_assert_int_eq(layout_each(l, a, reads_back, &(struct back){l, a}), 0);
	return n;
}

/* Files may have ids that no path is believed to have: then the path is not listed. */
START_TEST(odd_ids)
{
	static const char *const names[] = {"", "odd", "odd.pdb", "odd.wasm", "odd.exe"};
	static const char *const debug[] = {"3F14DD8A0", "3F14DD8A1", "3F14DD8Afffff", NIL "2", GUID "1",
		GUID "10000000"};
	static const char *const code[] = {"ab", "abcd", "abcdef", "0123456789abcd", "0123456789abcdef",
		"0123456789abcdef01", UUID, UUID "01234567", UUID UUID};
	unsigned n = 0;

	for (enum filetype type = 1; type < FILETYPES; type++)
		for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
			struct artifact from = {.type = type}, a;

			snprintf(from.m.code_file, sizeof(from.m.code_file), "%s", names[i]);
			snprintf(from.m.debug_file, sizeof(from.m.debug_file), "%s", names[i]);
			for (unsigned j = 0; j < ARRAY_SIZE(debug); j++) {
				a = from;
				ck_assert_int_eq(debug_id_parse(&a.m.debug_id, debug[j], strlen(debug[j])), 0);
				n += listed_of(&a);
			}
			for (unsigned j = 0; j < ARRAY_SIZE(code); j++) {
				struct key k = {.type = type};

				snprintf(k.id, sizeof(k.id), "%s", code[j]);
				snprintf(k.name, sizeof(k.name), "%s", names[i]);
				key_artifact(&k, &a);
				n += a.m.code_id[0] ? listed_of(&a) : 0;
			}
		}
	ck_assert_uint_ge(n, 1000);
}
END_TEST

static unsigned asked_by_name(const struct layout *l, const struct artifact *a)
{
	for (unsigned nth = 0;; nth++) {
		_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);

		if (layout_server_path(l, a, CASING_DEFAULT, nth, &path, NULL) < 0)
			return nth;
		ck_assert_msg(strcasestr(path.p, "odd.pd"), "%s %s", l->name, path.p);
	}
}

/* Of an id of zeros, or nearly, too, no path is listed that means no file; nor is a server asked for one
 * that does not tell the name, when the name is all there is. */
START_TEST(zeros)
{
	static const char *const ids[] = {NIL "0", NIL "1", NIL "ffffffff", GUID "0"};
	unsigned asked = 0;

	for (const struct layout *l = layouts; l->name; l++)
		for (unsigned n = 0; n < FILETYPES * ARRAY_SIZE(ids); n++) {
			const char *id = ids[n % ARRAY_SIZE(ids)];
			struct artifact a = {.type = n / ARRAY_SIZE(ids), .m.debug_file = "Odd.pdb"};
			struct back b = {l, &a};
			struct key k;

			ck_assert_int_eq(debug_id_parse(&a.m.debug_id, id, strlen(id)), 0);
			if (key_of(&k, &a) < 0)
				continue;
			ck_assert_int_eq(layout_each(l, &a, reads_back, &b), 0);
			if (key_of_nil(&a))
				asked += asked_by_name(l, &a);
		}
	ck_assert_uint_ge(asked, 10);
}
END_TEST

/* By what name a source is asked: that of a file, or none where ids make the path. */
START_TEST(names_in_paths)
{
	static const struct {
		const char *layout;
		enum filetype type;
		enum object_type object;
		const char *name;
	} rows[] = {
		{"symstore", FILETYPE_PDB, OBJECT_PE, "Crash.pdb"},
		{"native", FILETYPE_PDB, OBJECT_PE, "Crash.pdb"},
		{"unified", FILETYPE_PDB, OBJECT_PE, ""},
		{"slashsymbols", FILETYPE_PDB, OBJECT_PE, "Crash.exe"},
		{"symstore", FILETYPE_ELF_CODE, OBJECT_ELF, "libM-2.23.so"},
		{"symstore", FILETYPE_ELF_DEBUG, OBJECT_ELF, ""},
		{"debuginfod", FILETYPE_ELF_DEBUG, OBJECT_ELF, ""},
		{"gdb", FILETYPE_PDB, OBJECT_PE, ""}, /* it has none */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct artifact a = sample(rows[i].type, rows[i].object);

		ck_assert_str_eq(layout_name_of(layout_find(rows[i].layout), &a), rows[i].name);
	}
}
END_TEST

/* Each listed path is one that servers are asked for, too. */
START_TEST(listed)
{
	for (const struct layout *l = layouts; l->name; l++)
		for (const struct layout_row *row = l->rows; row->pattern; row++) {
			struct artifact a = sample(row->type, row->object);
			_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);

			for (unsigned nth = 0; layout_path(l, &a, CASING_DEFAULT, nth, &path) == 0; nth++) {
				_cleanup_buf_ struct buf asked = BUF_UP_TO(LAYOUT_PATH_MAX);
				unsigned i = 0;

				do {
					buf_clear(&asked);
					ck_assert_int_eq(layout_server_path(l, &a, CASING_DEFAULT, i++, &asked, NULL),
						0);
				} while (strcmp(asked.p, path.p) != 0);
				buf_clear(&path);
			}
		}
}
END_TEST

START_TEST(printed)
{
	static const struct {
		const char *layout;
		enum filetype type;
		const char *path;
	} rows[] = {
		/* ELF */
		{"gdb", FILETYPE_ELF_DEBUG, "df/b85de42daffd09640c8fe377d572de3e168920.debug"},
		{"gdb", FILETYPE_ELF_CODE, "df/b85de42daffd09640c8fe377d572de3e168920"},
		{"native", FILETYPE_ELF_DEBUG, "df/b85de42daffd09640c8fe377d572de3e168920.debug"},
		{"symstore", FILETYPE_ELF_CODE, "libM-2.23.so/elf-buildid-" ID "/libM-2.23.so"},
		{"symstore", FILETYPE_ELF_DEBUG, "_.debug/elf-buildid-sym-" ID "/_.debug"},
		{"symstore_index2", FILETYPE_ELF_CODE, "li/libM-2.23.so/elf-buildid-" ID "/libM-2.23.so"},
		{"symstore_index2", FILETYPE_ELF_DEBUG, "_/_.debug/elf-buildid-sym-" ID "/_.debug"},
		{"ssqp", FILETYPE_ELF_CODE, "libm-2.23.so/elf-buildid-" ID "/libm-2.23.so"},
		{"debuginfod", FILETYPE_ELF_DEBUG, ID "/debuginfo"},
		{"debuginfod", FILETYPE_ELF_CODE, ID "/executable"},
		{"debuginfod", FILETYPE_SOURCE, ID "/source/usr/src/a b.c"},
		{"debuginfod", FILETYPE_SECTION, ID "/section/.debug_info"},
		{"unified", FILETYPE_ELF_DEBUG, "df/b85de42daffd09640c8fe377d572de3e168920/debuginfo"},
		{"slashsymbols", FILETYPE_ELF_DEBUG,
			"libM-2.23.so/DFB85DE42DAFFD09640C8FE377D572DE3E168920/symbols"},
		{"perf", FILETYPE_ELF_CODE, "df/b85de42daffd09640c8fe377d572de3e168920/elf"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
		struct artifact a = sample(rows[i].type, OBJECT_ELF);

		ck_assert_int_eq(layout_path(layout_find(rows[i].layout), &a, CASING_DEFAULT, 0, &path), 0);
		ck_assert_str_eq(path.p, rows[i].path);
	}
}
END_TEST

/* All that a server is asked for, in that order; NULL ends. */
static void check_order(const char *layout, const struct artifact *a, const char *const *want)
{
	unsigned nth = 0;

	for (;; nth++) {
		_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);

		if (layout_server_path(layout_find(layout), a, CASING_DEFAULT, nth, &path, NULL) < 0)
			break;
		ck_assert_msg(want[nth] && strcmp(path.p, want[nth]) == 0, "%s: %s, not %s", layout, path.p,
			want[nth] ? want[nth] : "the end");
	}
	ck_assert_msg(!want[nth], "%s: no %s", layout, want[nth]);
}
#define ORDER(layout, type, object, ...)                                                           \
	do {                                                                                       \
		struct artifact artifact = sample(type, object);                                   \
		check_order(layout, &artifact, (const char *const[]){__VA_ARGS__, NULL});          \
	} while (0)

START_TEST(windows)
{
	ORDER("symstore", FILETYPE_PDB, OBJECT_PE, "Crash.pdb/" GUID "A/Crash.pdb",
		"Crash.pdb/" GUID "A/Crash.pd_", "Crash.pdb/" GUID "a/Crash.pdb", "Crash.pdb/" GUID "a/Crash.pd_");
	ORDER("symstore", FILETYPE_PE, OBJECT_PE, "Crash.exe/5AB380779000/Crash.exe",
		"Crash.exe/5AB380779000/Crash.ex_");
	ORDER("native", FILETYPE_PE, OBJECT_PE_DOTNET, "Net.dll/5AB380779000/Net.dll",
		"Net.dll/5AB380779000/Net.dl_");
	ORDER("symstore", FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET, "Net.pdb/" GUID "FFFFFFFF/Net.pdb",
		"Net.pdb/" GUID "ffffffff/Net.pdb");
	ORDER("ssqp", FILETYPE_PDB, OBJECT_PE, "crash.pdb/3249d99d0c4049318610f4e4fb0b6936A/crash.pdb",
		"crash.pdb/3249d99d0c4049318610f4e4fb0b6936A/crash.pd_");
	ORDER("ssqp", FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET,
		"net.pdb/3249d99d0c4049318610f4e4fb0b6936FFFFFFFF/net.pdb");
	ORDER("ssqp", FILETYPE_PE, OBJECT_PE, "crash.exe/5ab380779000/crash.exe", "crash.exe/5ab380779000/crash.ex_");
	ORDER("unified", FILETYPE_PE, OBJECT_PE, "32/49d99d0c4049318610f4e4fb0b6936a/executable",
		"32/49d99d0c4049318610f4e4fb0b6936a/executabl_");
	ORDER("unified", FILETYPE_PORTABLEPDB, OBJECT_PE_DOTNET,
		"32/49d99d0c4049318610f4e4fb0b6936e60b819d/debuginfo");
	ORDER("slashsymbols", FILETYPE_PDB, OBJECT_PE, "Crash.exe/5AB380779000/symbols",
		"Crash.exe/5AB380779000/symbol_", "Crash.exe/5ab380779000/symbols", "Crash.exe/5ab380779000/symbol_");
	ORDER("native", FILETYPE_SOURCEBUNDLE, OBJECT_PE, "Crash.pdb/" GUID "A/Crash.src.zip",
		"Crash.pdb/" GUID "a/Crash.src.zip");
	ORDER("native", FILETYPE_SOURCEBUNDLE, OBJECT_PE_DOTNET, "Net.pdb/" GUID "FFFFFFFF/Net.src.zip",
		"Net.pdb/" GUID "ffffffff/Net.src.zip", "Net.pdb/" GUID "e60b819d/Net.src.zip");
	ORDER("symstore", FILETYPE_PERFMAP, OBJECT_UNKNOWN,
		"Core.ni.r2rmap/r2rmap-v1-3249d99d0c4049318610f4e4fb0b6936/Core.ni.r2rmap");
	ORDER("symstore", FILETYPE_COMPANION, OBJECT_ELF,
		"libmscordaccore.so/elf-buildid-coreclr-" ID "/libmscordaccore.so");
}
END_TEST

START_TEST(apple_and_others)
{
	ORDER("lldb", FILETYPE_MACH_DEBUG, OBJECT_MACHO, "67E9/247C/814E/392B/A027/DBDE6748FCBF");
	ORDER("lldb", FILETYPE_MACH_CODE, OBJECT_MACHO, "67E9/247C/814E/392B/A027/DBDE6748FCBF.app");
	ORDER("native", FILETYPE_SOURCEBUNDLE, OBJECT_MACHO, "67E9/247C/814E/392B/A027/DBDE6748FCBF.src.zip",
		"AppKit/67E9247C814E392BA027DBDE6748FCBF0/AppKit.src.zip");
	ORDER("symstore", FILETYPE_MACH_CODE, OBJECT_MACHO, "AppKit/mach-uuid-" UUID "/AppKit");
	ORDER("symstore_index2", FILETYPE_MACH_DEBUG, OBJECT_MACHO, "_/_.dwarf/mach-uuid-sym-" UUID "/_.dwarf",
		"_./_.dwarf/mach-uuid-sym-" UUID "/_.dwarf");
	ORDER("ssqp", FILETYPE_MACH_CODE, OBJECT_MACHO, "appkit/mach-uuid-" UUID "/appkit");
	ORDER("unified", FILETYPE_UUIDMAP, OBJECT_MACHO, "67/e9247c814e392ba027dbde6748fcbf/uuidmap");
	ORDER("unified", FILETYPE_WASM_CODE, OBJECT_WASM, "67/e9247c814e392ba027dbde6748fcbf/executable");
	ORDER("native", FILETYPE_WASM_DEBUG, OBJECT_WASM, "67/e9247c814e392ba027dbde6748fcbf.debug");
	check_order("native", &(struct artifact){.type = FILETYPE_BREAKPAD, .m.object = OBJECT_WASM},
		(const char *const[]){NULL});
	ORDER("breakpad", FILETYPE_BREAKPAD, OBJECT_ELF,
		"libM-2.23.so/E45DB8DFAF2D09FD640C8FE377D572DE0/libM-2.23.so.sym");
	ORDER("unified", FILETYPE_BREAKPAD, OBJECT_ELF, "df/b85de42daffd09640c8fe377d572de3e168920/breakpad");
	ORDER("native", FILETYPE_SOURCEBUNDLE, OBJECT_ELF, "df/b85de42daffd09640c8fe377d572de3e168920.src.zip",
		"libM-2.23.so/E45DB8DFAF2D09FD640C8FE377D572DE0/libM-2.23.so.src.zip");
}
END_TEST

/* Names of symbol files, short ids of PDB 2.0, and how the two tiers are cut. */
START_TEST(spellings)
{
	struct artifact a = sample(FILETYPE_BREAKPAD, OBJECT_PE);

	check_order("breakpad", &a, (const char *const[]){"Crash.pdb/" GUID "a/Crash.sym",
		"Crash.pdb/" GUID "A/Crash.sym", NULL});
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "foo.EXE");
	check_order("breakpad", &a, (const char *const[]){"foo.EXE/" GUID "a/foo.sym",
		"foo.EXE/" GUID "A/foo.sym", "foo.EXE/" GUID "a/foo.EXE.sym", NULL});
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "ab.pdb");
	debug_id_parse(&a.m.debug_id, "418E89C31", 9);
	check_order("breakpad", &a, (const char *const[]){"ab.pdb/418E89C31/ab.sym", NULL});
	a.type = FILETYPE_PDB;
	check_order("symstore_index2", &a, (const char *const[]){"ab/ab.pdb/418E89C31/ab.pdb",
		"ab/ab.pdb/418E89C31/ab.pd_", "ab/ab.pdb/418E89C30000000000000000000000001/ab.pdb",
		"ab/ab.pdb/418E89C30000000000000000000000001/ab.pd_", NULL});
	a = sample(FILETYPE_ELF_CODE, OBJECT_ELF);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "\xc3\x9cn");
	snprintf(a.m.code_id, sizeof(a.m.code_id), "aabb");
	check_order("symstore_index2", &a, (const char *const[]){"\xc3\x9cn/\xc3\x9cn/elf-buildid-aabb/\xc3\x9cn",
		"\xc3\x9c/\xc3\x9cn/elf-buildid-aabb/\xc3\x9cn", NULL});
	snprintf(a.m.code_file, sizeof(a.m.code_file), "a\xc3\x9c");
	check_order("symstore_index2", &a, (const char *const[]){"a\xc3\x9c/a\xc3\x9c/elf-buildid-aabb/a\xc3\x9c",
		"a\xc3\x9c/elf-buildid-aabb/a\xc3\x9c", NULL});
	snprintf(a.m.code_file, sizeof(a.m.code_file), "..");
	check_order("symstore", &a, (const char *const[]){NULL});
}
END_TEST

/* Which files a path can be, best first. */
START_TEST(candidates)
{
	static const struct {
		const char *layout, *path;
		enum filetype want[LAYOUT_CANDIDATES];
	} rows[] = {
		{"symstore", "foo.exe/542D574Ec2000/foo.exe", {FILETYPE_PE}},
		{"symstore", "foo.pdb/" GUID "1/foo.pdb", {FILETYPE_PDB}},
		{"symstore", "foo.exe/" GUID "1/foo.exe", {FILETYPE_PDB}},
		{"symstore", "foo.pdb/" GUID "FFFFFFFF/foo.pdb", {FILETYPE_PORTABLEPDB, FILETYPE_PDB}},
		{"symstore", "foo.pdb/" GUID "e60b819d/foo.pdb", {FILETYPE_PORTABLEPDB}},
		{"symstore", "foo.pdb/418E89C31/foo.pdb", {FILETYPE_PDB}},
		{"symstore", "foo.pdb/418E89C30000000000000000000000001/foo.pdb", {FILETYPE_PDB}},
		{"symstore", "foo.pdb/" GUID "/foo.pdb", {0}},	    /* the age is missing */
		{"symstore", "foo.pdb/" GUID "1/foo.pd_", {0}},
		{"symstore", "foo.pdb/" GUID "1/foo.sym", {0}},
		{"symstore", "fo/foo.pdb/" GUID "1/foo.pdb", {0}},
		{"symstore", "foo.exe/542D574E/foo.exe", {0}},	    /* the size is missing */
		{"symstore", "foo.txt/SHA1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6/foo.txt", {0}},
		{"ssqp", "foo.txt/sha1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6/foo.txt", {0}},
		{"symstore", "_.debug/elf-buildid-sym-/_.debug", {0}},
		{"symstore", "mscordaccore.dll/542D574Ec2000/mscordaccore.dll", {FILETYPE_PE, FILETYPE_COMPANION}},
		{"symstore", "libsos.so/elf-buildid-coreclr-" ID "/libsos.so", {FILETYPE_COMPANION}},
		{"symstore", "libc.so/elf-buildid-coreclr-" ID "/libc.so", {0}},
		{"symstore2", "a./a.pdb/" GUID "1/a.pdb", {FILETYPE_PDB}},
		{"symstore2", "a/a.pdb/" GUID "1/a.pdb", {FILETYPE_PDB}},
		{"symstore2", "b/a.pdb/" GUID "1/a.pdb", {0}},
		{"breakpad", "foo.dll/" GUID "1/foo.sym", {FILETYPE_BREAKPAD}},
		{"breakpad", "foo.dll/" GUID "1/foo.dll.sym", {FILETYPE_BREAKPAD}},
		{"breakpad", "libm.so/" GUID "/libm.so.sym", {FILETYPE_BREAKPAD}},
		{"breakpad", "foo.dll/" GUID "1/bar.sym", {0}},
		{"lldb", "67E9/247C/814E/392B/A027/DBDE6748FCBF", {FILETYPE_MACH_DEBUG}},
		{"lldb", "67E9/247C/814E/392B/A027/DBDE6748FCBF.app", {FILETYPE_MACH_CODE}},
		{"lldb", "67E9/247C/814E/392B/A027/DBDE6748FCB", {0}},
		{"native", "df/b85de42daffd09640c8fe377d572de3e168920.debug",
		{FILETYPE_ELF_DEBUG, FILETYPE_WASM_DEBUG}},
		{"native", "df/b85de42daffd09640c8fe377d572de3e168920.src.zip",
		{FILETYPE_SOURCEBUNDLE, FILETYPE_SOURCEBUNDLE}},
		{"unified", "67/e9247c814e392ba027dbde6748fcbf/debuginfo",
			{FILETYPE_MACH_DEBUG, FILETYPE_ELF_DEBUG, FILETYPE_WASM_DEBUG}},
		{"unified", "32/49d99d0c4049318610f4e4fb0b69361/debuginfo", {FILETYPE_PDB}},
		{"unified", "32/49d99d0c4049318610f4e4fb0b69361/executable", {FILETYPE_PE}},
		{"unified", "0c/1033f78632492e91c6c314b72e1920e60b819d/debuginfo",
			{FILETYPE_ELF_DEBUG, FILETYPE_WASM_DEBUG, FILETYPE_PORTABLEPDB}},
		{"unified", "32/49d99d0c4049318610f4e4fb0b69361/breakpad", {FILETYPE_BREAKPAD}},
		{"slashsymbols", "Crash.exe/5AB38077900/symbols", {FILETYPE_PE}},
		{"slashsymbols", "a.so/" ID "/symbols", {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE}},
		{"slashsymbols", "a.so/" ID "/symbol_", {0}},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct layout_hit hit;
		unsigned n = 0;

		layout_parse(layout_find(rows[i].layout), rows[i].path, &hit);
		for (; n < hit.n && rows[i].want[n]; n++)
			ck_assert_msg(hit.files[n].type == rows[i].want[n], "%s %s: %s at %u", rows[i].layout,
				rows[i].path, filetypes[hit.files[n].type].name, n);
		ck_assert_msg(n == hit.n && !rows[i].want[n], "%s %s: %u", rows[i].layout, rows[i].path, hit.n);
	}
}
END_TEST

/* An age in decimal digits, as LLDB prints it, is read after the same digits in hex. */
START_TEST(decimal_ages)
{
	static const struct {
		const char *layout, *path;
		uint32_t want[3];
	} rows[] = {
		{"symstore", "foo.pdb/" GUID "10/foo.pdb", {0x10, 10}},
		{"symstore2", "fo/foo.pdb/" GUID "4294967/foo.pdb", {0x4294967, 4294967}},
		{"symstore", "foo.pdb/" GUID "9/foo.pdb", {9}},
		{"symstore", "foo.pdb/" GUID "1a/foo.pdb", {0x1a}},
		{"ssqp", "foo.pdb/" GUID "10/foo.pdb", {0x10}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct layout_hit hit;
		unsigned n = 0;

		layout_parse(layout_find(rows[i].layout), rows[i].path, &hit);
		for (unsigned j = 0; j < hit.n; j++) {
			if (hit.files[j].type != FILETYPE_PDB)
				continue;
			ck_assert_uint_lt(n, 2);
			ck_assert_uint_eq(hit.files[j].m.debug_id.age, rows[i].want[n++]);
		}
		ck_assert_msg(n && !rows[i].want[n], "%s: %u", rows[i].path, n);
	}
}
END_TEST

/* A GUID with a stamp behind it is not taken for a WASM module's id that is longer than a UUID. */
START_TEST(candidates_of_forty_digits)
{
	static const char *const paths[] = {"0c/1033f78632492e91c6c314b72e1920e60b819d/breakpad",
		"0c/1033f78632492e91c6c314b72e1920e60b819d/sourcebundle"};

	for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
		struct layout_hit hit;

		layout_parse(layout_find("unified"), paths[i], &hit);
		ck_assert_uint_ge(hit.n, 3);
		ck_assert_int_eq(hit.files[0].m.object, OBJECT_ELF);
		ck_assert_uint_eq(hit.files[1].m.debug_id.age, 0xe60b819d);
		ck_assert_int_eq(hit.files[hit.n - 1].m.object, OBJECT_WASM);
	}
}
END_TEST

/* Paths of one file in several layouts are one key. */
START_TEST(one_file)
{
	static const char *const rows[][6] = {
		{"symstore/foo.pdb/" GUID "1/FOO.pdb", "foo.pdb/3249d99d0c4049318610f4e4fb0b69361/foo.pdb",
			"unified/32/49d99d0c4049318610f4e4fb0b69361/debuginfo",
			"symstore2/fo/foo.pdb/" GUID "1/foo.pdb"},
		{"symstore/foo.pdb/" GUID "FFFFFFFF/foo.pdb", "ssqp/foo.pdb/" GUID "ffffffff/foo.pdb",
			"native/Foo.pdb/" GUID "e60b819d/foo.pdb", "foo.pdb/" GUID "ffffffff/foo.pdb"},
		{"native/foo.pdb/" GUID "FFFFFFFF/foo.src.zip", "native/foo.pdb/" GUID "e60b819d/foo.src.zip"},
		{"lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF", "symstore/_.dwarf/mach-uuid-sym-" UUID "/_.dwarf",
			"unified/67/e9247c814e392ba027dbde6748fcbf/debuginfo",
			"67e9/247c/814e/392b/a027/dbde6748fcbf",
			"slashsymbols/a/" UUID "/symbols", "ssqp/a/mach-uuid-sym-" UUID "/a"},
		{"lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF", "dsym/" DASHED "/a.dSYM/Contents/Resources/DWARF/A",
			"dsym/" UUID "/A.dsym/contents/resources/dwarf/a",
			"dsym/" DASHED "/a.app.dSYM/Contents/Resources/DWARF/a",
			"dsym/" UUID "/" UUID ".dSYM/Contents/Resources/DWARF/" UUID,
			"dsym/" DASHED "/" DASHED ".dSYM/Contents/Info.plist"},
		{"breakpad/libm.so/E45DB8DFAF2D09FD640C8FE377D572DE0/libm.so.sym",
			"libm.so/e45db8dfaf2d09fd640c8fe377d572de/libm.so.sym"},
		{"breakpad/crash/" UUID "0/crash.sym", "unified/67/e9247c814e392ba027dbde6748fcbf/breakpad"},
		{"symstore/foo.exe/5AB380779000/foo.exe", "ssqp/FOO.exe/5ab380779000/foo.EXE",
			"slashsymbols/foo.exe/5AB380779000/symbols", "native/fOO.EXE/5ab380779000/foo.exe"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct key first = {0}, k;

		for (unsigned j = 0; j < 6 && rows[i][j]; j++) {
			struct tree_hit hit;

			tree_parse(rows[i][j], &hit);
			ck_assert_msg(hit.what == TREE_LEAF || hit.what == TREE_TOLD, "%s", rows[i][j]);
			ck_assert_int_eq(key_of(&k, &hit.files[0]), 0);
			if (j == 0)
				first = k;
			ck_assert_msg(key_equal(&first, &k) && key_number(&first) == key_number(&k), "%s",
				rows[i][j]);
		}
	}
}
END_TEST

/* At the root a path can be a file of one layout and a directory of another. */
START_TEST(tree_else_dir)
{
	static const struct {
		const char *path;
		enum tree_what what;
		bool else_dir;
	} rows[] = {
		{"df/b85de42daffd09640c8fe377d572de3e168920", TREE_LEAF, true},
		{"60/3dc0f9b83078b14c4c44205044422e1a", TREE_LEAF, true},
		{"gsym/df/b85de42daffd09640c8fe377d572de3e168920", TREE_DIR, false},
		{"df/b85de42daffd09640c8fe377d572de3e168920.debug", TREE_LEAF, false},
		{"df/dfb85de42daffd09640c8fe377d572de3e168920.debug", TREE_LEAF, false},
		{"df/b85de42daffd09640c8fe377d572de3e168920/executable", TREE_LEAF, false},
		{"native/df/b85de42daffd09640c8fe377d572de3e168920", TREE_LEAF, false},
		{"gdb/.build-id/df/b85de42daffd09640c8fe377d572de3e168920", TREE_LEAF, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tree_hit hit;

		tree_parse(rows[i].path, &hit);
		ck_assert_msg(hit.what == rows[i].what && (hit.what != TREE_LEAF || hit.else_dir == rows[i].else_dir),
			"%s: %d %d", rows[i].path, hit.what, hit.else_dir);
	}
}
END_TEST

/* A Breakpad file of several modules by one path: GSYM can be made of each. */
START_TEST(tree_gsym_meanings)
{
	struct tree_hit hit;
	struct key k;

	tree_parse("gsym/unified/60/3dc0f9b83078b14c4c44205044422e1a/breakpad.gsym", &hit);
	ck_assert_int_eq(hit.what, TREE_LEAF);
	ck_assert_uint_ge(hit.n, 2);
	for (unsigned i = 0; i < hit.n; i++)
		ck_assert_int_eq(hit.files[i].type, FILETYPE_BREAKPAD);
	for (unsigned i = 0; i < hit.n; i++) {
		ck_assert_int_eq(key_of(&k, &hit.files[i]), 0);
		ck_assert_ptr_eq(tree_gsym_input(hit.files, hit.n, &k), &hit.files[i]);
	}
	tree_parse("gsym/df/b85de42daffd09640c8fe377d572de3e168920.gsym", &hit);
	ck_assert_uint_eq(hit.n, 4);
	ck_assert_int_eq(hit.files[0].type, FILETYPE_ELF_DEBUG);
	/* The program exists; its debug file gives the same GSYM. */
	ck_assert_int_eq(key_of(&k, &hit.files[1]), 0);
	ck_assert_ptr_eq(tree_gsym_input(hit.files, hit.n, &k), &hit.files[0]);
	/* Without a layout the path can be that of WebAssembly, too. */
	ck_assert_int_eq(key_of(&k, &hit.files[3]), 0);
	ck_assert_ptr_eq(tree_gsym_input(hit.files, hit.n, &k), &hit.files[2]);
}
END_TEST

START_TEST(tree)
{
	static const struct {
		const char *path;
		enum tree_what what;
		enum filetype type;
	} rows[] = {
		{"", TREE_DIR, 0},
		{".build-id", TREE_LINK, 0},
		{".symfs", TREE_STATE, 0},
		{".symfs/why/gdb/x", TREE_STATE, 0},
		{"pingme.txt", TREE_TEXT, 0},
		{"README", TREE_TEXT, 0},
		{"gsym/README", TREE_NONE, 0},
		{"gsym/pingme.txt", TREE_NONE, 0},
		{"gsym/symstore/000Admin", TREE_NONE, 0},
		{"gsym/gsym", TREE_NONE, 0},
		{"gsym/.build-id", TREE_LINK, 0},
		{"index2.txt", TREE_NONE, 0},
		{"symstore2/index2.txt", TREE_TEXT, 0},
		{"symstore/index2.txt", TREE_NONE, 0},
		{"gdb", TREE_DIR, 0},
		{"gdb/.build-id", TREE_DIR, 0},
		{"gdb/.build-id/df", TREE_DIR, 0},
		{"gdb/df", TREE_DIR, 0},
		{"gdb/.build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"gdb/df/b85de42daffd09640c8fe377d572de3e168920", TREE_LEAF, FILETYPE_ELF_CODE},
		{"gdb/.build-id/df/b85de42daffd09640c8fe377d572de3e16892.debug", TREE_NONE, 0}, /* odd */
		{"gdb/.build-id/df/prog.dwp", TREE_NONE, 0},
		{"gdb/.build-id/df/b85de42d.debug-gdb.py", TREE_NONE, 0},
		{"gdb/usr/lib/x86_64-linux-gnu/libc.so.6", TREE_NONE, 0},
		{"debuginfod/buildid", TREE_DIR, 0},
		{"debuginfod/buildid/" ID, TREE_DIR, 0},
		{"debuginfod/buildid/" ID "/debuginfo", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"debuginfod/" ID "/executable", TREE_LEAF, FILETYPE_ELF_CODE},
		{"debuginfod/buildid/" ID "/section/.text", TREE_LEAF, FILETYPE_SECTION},
		{"debuginfod/buildid/" ID "/source", TREE_DIR, 0},
		{"debuginfod/buildid/" ID "/source/usr", TREE_EITHER, FILETYPE_SOURCE},
		{"debuginfod/buildid/xyz/debuginfo", TREE_NONE, 0},
		/* The root itself. */
		{"buildid/" ID "/debuginfo", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"df/b85de42daffd09640c8fe377d572de3e168920.debug", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"df/b85de42daffd09640c8fe377d572de3e168920/executable", TREE_LEAF, FILETYPE_ELF_CODE},
		{"libm.so/elf-buildid-" ID "/libm.so", TREE_LEAF, FILETYPE_ELF_CODE},
		{"li/libm.so/elf-buildid-" ID "/LIBM.so", TREE_LEAF, FILETYPE_ELF_CODE},
		{"desktop.ini", TREE_NONE, 0},
		{"symstore/foo.pd_", TREE_NONE, 0},
		{"SymStore/FOO.PD_/497B72F6390A44FC878E5A2D63B6CC4B1/FOO.PD_", TREE_NONE, 0},
		{"symstore/pd_", TREE_DIR, 0},
		{"System Volume Information", TREE_NONE, 0},
		{"symstore/._foo.pdb", TREE_NONE, 0},
		{"symstore/._", TREE_DIR, 0},
		{"foo.dwp", TREE_NONE, 0},
		{"symstore/libm.so/elf-buildid-" ID "/other.so", TREE_NONE, 0},
		{"symstore/libm.so/elf-buildid-" ID "/libm.so", TREE_LEAF, FILETYPE_ELF_CODE},
		/* A path in a folder whose layout cannot mean it. */
		{"symstore/buildid/" ID "/debuginfo", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"perf/.build-id/df/b85de42daffd09640c8fe377d572de3e168920", TREE_LINK, 0},
		{"perf/df/b85de42daffd09640c8fe377d572de3e168920", TREE_DIR, 0},
		{"perf/.build-id/df", TREE_DIR, 0},
		{"perf/.build-id/df/b85de42daffd09640c8fe377d572de3e16892g", TREE_NONE, 0},
		{"perf/.build-id/df/b85de42daffd09640c8fe377d572de3e168920/elf", TREE_LEAF, FILETYPE_ELF_CODE},
		{"symstore/a\x01" "b/elf-buildid-" ID "/a\x01" "b", TREE_NONE, 0},
		{"native/df/b85de42daffd09640c8fe377d572de3e168920", TREE_LEAF, FILETYPE_ELF_CODE},
		{"native/67/e9247c814e392ba027dbde6748fcbf1", TREE_DIR, 0}, /* odd: of a PDB's name */
		{"foo.pdb", TREE_DIR, 0},
		{"foo.pdb/" GUID "1", TREE_DIR, 0},
		{"foo.pdb/" GUID "1/foo.pdb", TREE_LEAF, FILETYPE_PDB},
		{"foo.pdb/" GUID "1/foo.pd_", TREE_NONE, 0},
		{"foo.pdb/" GUID "1/foo.sym", TREE_LEAF, FILETYPE_BREAKPAD},
		{"foo.pdb/" GUID "1/file.ptr", TREE_NONE, 0},
		{"symstore/foo.pdb/" GUID "1/foo.sym", TREE_LEAF, FILETYPE_BREAKPAD},
		{"000Admin", TREE_DIR, 0},
		{"symstore/000admin", TREE_DIR, 0},
		{"symstore/000Admin/server.txt", TREE_TEXT, 0},
		{"SymStore2/000ADMIN/History.TXT", TREE_TEXT, 0},
		{"symstore/000Admin/lastid.txt", TREE_NONE, 0},
		{"symstore/000Admin/0000000001", TREE_NONE, 0},
		{"symstore/foo.pdb/000Admin", TREE_NONE, 0},
		{"gdb/000Admin", TREE_NONE, 0},
		{"PINGME.TXT", TREE_TEXT, 0},
		{"symstore/PingMe.txt", TREE_TEXT, 0},
		{"symstore2/INDEX2.TXT", TREE_TEXT, 0},
		{"ssqp/pingme.txt", TREE_NONE, 0},
		{"SYMSTORE/FOO.PDB/" GUID "1/FOO.PDB", TREE_LEAF, FILETYPE_PDB},
		{"symstore/a\\b.pdb/" GUID "1/a\\b.pdb", TREE_NONE, 0},
		{"foo.exe/5AB380779000/FOO.exe", TREE_LEAF, FILETYPE_PE},
		{"fo/foo.pdb/" GUID "1/foo.pdb", TREE_LEAF, FILETYPE_PDB},
		{"foo.txt/sha1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6/foo.txt", TREE_NONE, 0},
		{"ssqp/foo.txt/sha1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6", TREE_NONE, 0},
		{"ssqp/foo.txt/sha1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6/foo.txt", TREE_NONE, 0},
		{"symstore/foo.txt/SHA1-497B72F6390A44FC878E5A2D63B6CC4B497B72F6/foo.txt", TREE_NONE, 0},
		{"symstore2/fo/foo.txt/sha1-497b72f6390a44fc878e5a2d63b6cc4b497b72f6/foo.txt", TREE_NONE, 0},
		{"67E9/247C/814E/392B/A027", TREE_DIR, 0},
		{"67E9/247C/814E/392B/A027/DBDE6748FCBF", TREE_LEAF, FILETYPE_MACH_DEBUG},
		{"lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF.app", TREE_LEAF, FILETYPE_MACH_CODE},
		{"lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF", TREE_TOLD, FILETYPE_MACH_DEBUG},
		{"native/67E9/247C/814E/392B/A027/DBDE6748FCBF", TREE_LEAF, FILETYPE_MACH_DEBUG},
		/* Only what stands in its own place is a link. */
		{"lldb/_.dwarf/mach-uuid-sym-" UUID "/_.dwarf", TREE_LEAF, FILETYPE_MACH_DEBUG},
		{"dsym", TREE_DIR, 0},
		{"dsym/" DASHED, TREE_DIR, 0},
		{"dsym/" UUID "/A.dSYM/Contents", TREE_DIR, 0},
		{"dsym/" DASHED "/A.dSYM/Contents/Resources/DWARF", TREE_DIR, 0},
		{"dsym/" DASHED "/A.dSYM/Contents/Resources/DWARF/A", TREE_LEAF, FILETYPE_MACH_DEBUG},
		{"dsym/" DASHED "/A.app.dSYM/Contents/Resources/DWARF/A", TREE_LEAF, FILETYPE_MACH_DEBUG},
		{"dsym/" DASHED "/A.dSYM/Contents/Info.plist", TREE_TOLD, FILETYPE_MACH_DEBUG},
		{"dsym/" DASHED "/A.dSYM/Contents/Resources/" DASHED ".plist", TREE_NONE, 0},
		{"dsym/" DASHED "/.dSYM/Contents/Info.plist", TREE_NONE, 0},
		{"dsym/" DASHED "/Contents/Info.plist", TREE_NONE, 0},
		{"dsym/" DASHED "/A/Contents/Info.plist", TREE_NONE, 0},
		{"dsym/67E9247C-814E-392B-A027-DBDE6748FCB/A.dSYM", TREE_NONE, 0},
		{"dsym/67E9247C-814E-392B-A027DBDE6748FCBF/A.dSYM", TREE_NONE, 0},
		{"lldb/" DASHED "/A.dSYM/Contents/Info.plist", TREE_NONE, 0},
		{"source", TREE_DIR, 0},
		{"source/abcdef0123", TREE_DIR, 0},
		{"source/usr", TREE_NONE, 0},
		{"source/abcdef0123/usr/src", TREE_EITHER, FILETYPE_SOURCE},
		{"SOURCE/ABCDEF0123/usr/src/a.c", TREE_EITHER, FILETYPE_SOURCE},
		{"source/abcdef0123+0123abcdef/usr/src/a.c", TREE_EITHER, FILETYPE_SOURCE},
		{"source/abcdef0123+0123abcdef", TREE_DIR, 0},
		{"source/abcdef0123+usr/src/a.c", TREE_NONE, 0},
		{"source/abcdef0123+/usr/src/a.c", TREE_NONE, 0},
		{"source/+abcdef0123/usr/src/a.c", TREE_NONE, 0},
		{"source/abcdef0123/usr/../a.c", TREE_NONE, 0},
		{"debuginfod/abcdef0123+0123abcdef/usr/src/a.c", TREE_NONE, 0},
		{"abcdef0123/usr/src/a.c", TREE_NONE, 0}, /* only in its folder */
		{"gsym/source/abcdef0123/usr/src/a.c.gsym", TREE_NONE, 0},
		{"unified/67/e9247c814e392ba027dbde6748fcbf/debuginfo.meta", TREE_TOLD, FILETYPE_MACH_DEBUG},
		{"unified/DF/B85DE42DAFFD09640C8FE377D572DE3E168920/Executable.META", TREE_TOLD, FILETYPE_ELF_CODE},
		{"unified/32/49d99d0c4049318610f4e4fb0b69361/sourcebundle.meta", TREE_TOLD, FILETYPE_SOURCEBUNDLE},
		{"unified/32/49d99d0c4049318610f4e4fb0b69361/breakpad.meta", TREE_TOLD, FILETYPE_BREAKPAD},
		{"unified/67/e9247c814e392ba027dbde6748fcbf/uuidmap.meta", TREE_NONE, 0},
		{"unified/67/e9247c814e392ba027dbde6748fcbf/.meta", TREE_NONE, 0},
		{"unified/67/debuginfo.meta", TREE_NONE, 0},
		{"df/b85de42daffd09640c8fe377d572de3e168920/executable.meta", TREE_NONE, 0},
		{"breakpad/crash/" UUID "0/crash.sym", TREE_LEAF, FILETYPE_BREAKPAD},
		{"gdb//df", TREE_NONE, 0},
		{"gdb/df/", TREE_NONE, 0},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tree_hit hit;

		tree_parse(rows[i].path, &hit);
		ck_assert_msg(hit.what == rows[i].what, "%s is %d", rows[i].path, hit.what);
		if (rows[i].type)
			ck_assert_msg(hit.n >= 1 && hit.files[0].type == rows[i].type, "%s", rows[i].path);
	}
}
END_TEST

/* Joined identifiers: the files of the builds in the order of the path, each once, and no more than the hit has
 * room for. */
START_TEST(joined_sources)
{
	static const struct {
		const char *path;
		unsigned n;
		const char *first, *last;
	} rows[] = {
		{"source/aa01+bb02/src/a.c", 2, "aa01", "bb02"},
		{"source/bb02+aa01/src/a.c", 2, "bb02", "aa01"},
		{"source/aa01+aa01/src/a.c", 1, "aa01", "aa01"},
		{"source/0001+0002+0003+0004+0005+0006+0007+0008+0009+000a/src/a.c", LAYOUT_CANDIDATES,
			"0001", "0008"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tree_hit hit;

		tree_parse(rows[i].path, &hit);
		ck_assert_msg(hit.what == TREE_EITHER && hit.file_like && hit.n == rows[i].n, "%s: %u", rows[i].path,
			hit.n);
		ck_assert_str_eq(hit.files[0].m.code_id, rows[i].first);
		ck_assert_str_eq(hit.files[hit.n - 1].m.code_id, rows[i].last);
		ck_assert_str_eq(hit.files[hit.n - 1].m.path, "/src/a.c");
	}
}
END_TEST

/* What listings show in any case. */
START_TEST(entries)
{
	static const struct {
		const char *path, *names;
	} rows[] = {
		{"symstore", "pingme.txt 000Admin/ "}, {"symstore2", "pingme.txt index2.txt 000Admin/ "},
		{"SYMSTORE2/000ADMIN", "server.txt history.txt "}, {"000Admin", "server.txt history.txt "},
		{"gdb", ".build-id/ "}, {"lldb", ""}, {"gsym/gdb", ""}, {"dsym/" DASHED, ""},
		{"dsym/" DASHED "/A.dSYM/Contents", "Info.plist "}, {"lldb/A.dSYM/Contents", ""},
		{"symstore/foo.pdb", ""},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf names = BUF_UP_TO(1000);
		enum tree_what what;
		const char *name;

		for (unsigned nth = 0; (name = tree_entry(rows[i].path, nth, &what)); nth++)
			buf_addf(&names, "%s%s ", name, what == TREE_DIR ? "/" : "");
		ck_assert_str_eq(buf_text(&names), rows[i].names);
	}
}
END_TEST

/* The leaves of lldb are links to bundles, by the name if it can be looked up. */
START_TEST(bundles)
{
	static const char nameless[] = "../../../../../../dsym/" DASHED "/" DASHED
				       ".dSYM/Contents/Resources/DWARF/" DASHED;
	static const struct {
		const char *name, *target, *plist;
	} rows[] = {
		{"Demo", "../../../../../../dsym/" DASHED "/Demo.dSYM/Contents/Resources/DWARF/Demo",
			"dsym/" DASHED "/Demo.dSYM/Contents/Info.plist"},
		{"", nameless, "dsym/" DASHED "/" DASHED ".dSYM/Contents/Info.plist"},
		{"a/b", nameless, NULL}, {"a\\b", nameless, NULL}, {"..", nameless, NULL}, {"x.dwo", nameless, NULL},
	};
	struct artifact a = {.type = FILETYPE_MACH_DEBUG, .m = {.object = OBJECT_MACHO, .code_id = UUID}};
	struct tree_hit hit;

	for (unsigned i = 0; i <= ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf path = BUF_UP_TO(4096), target = BUF_UP_TO(4096), plist = BUF_UP_TO(4096);

		if (i < ARRAY_SIZE(rows))
			snprintf(a.m.code_file, sizeof(a.m.code_file), "%s", rows[i].name);
		else /* a component of 256 bytes */
			memset(a.m.code_file, 'n', 251), a.m.code_file[251] = '\0';
		ck_assert_int_eq(tree_link(&a, &path, &target), 0);
		ck_assert_int_eq(tree_plist(&a, &plist), 0);
		ck_assert_str_eq(path.p, "lldb/67E9/247C/814E/392B/A027/DBDE6748FCBF");
		ck_assert_str_eq(target.p, i < ARRAY_SIZE(rows) ? rows[i].target : nameless);
		if (i < ARRAY_SIZE(rows) && rows[i].plist)
			ck_assert_str_eq(plist.p, rows[i].plist);
		tree_parse(strstr(target.p, "dsym/"), &hit);
		ck_assert_int_eq(hit.what, TREE_LEAF);
		ck_assert_str_eq(hit.files[0].m.code_file, i == 0 ? "Demo" : "");
		tree_parse(plist.p, &hit);
		ck_assert_int_eq(hit.what, TREE_TOLD);
		ck_assert_int_eq(hit.told, TOLD_PLIST);
	}
}
END_TEST

START_TEST(sources)
{
	static const struct {
		const char *path;
		bool file;
	} rows[] = {
		{"usr/src/main.c", true}, {"usr/src", false}, {"usr/include/c++/12/vector", true},
		{"usr/include/c++/12", false}, {"usr/include/c++/12/bits", false},
		{"usr/include/c++/12/bits/stl_vector.h", true}, {"src/foo-1.2", false}, {"a/b.RS", true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[200];
		struct tree_hit hit;

		snprintf(path, sizeof(path), "debuginfod/buildid/" ID "/source/%s", rows[i].path);
		tree_parse(path, &hit);
		ck_assert_msg(hit.what == TREE_EITHER && hit.file_like == rows[i].file, "%s", path);
	}
}
END_TEST

START_TEST(hostile)
{
	char path[6000];
	struct tree_hit hit;

	for (unsigned n = 1; n < sizeof(path); n += 97) {
		memset(path, 'a', n);
		path[n] = '\0';
		tree_parse(path, &hit);
		for (unsigned i = 1; i < n; i += 2)
			path[i] = '/';
		tree_parse(path, &hit);
		ck_assert_int_ne(hit.what, TREE_LEAF);
	}
}
END_TEST

/* The README of the mount names the folder of each layout, and fits on a screen. */
START_TEST(readme_names_folders)
{
	struct tree_hit hit;
	unsigned lines = 0;

	tree_parse("README", &hit);
	for (const struct layout *l = layouts; l->name; l++) {
		char line[64];

		snprintf(line, sizeof(line), "\n  %s/ ", l->folder);
		ck_assert_msg(strstr(hit.text, line) != NULL, "README of src/names/layout/tree.c does not name %s/",
			l->folder);
	}
	for (const char *p = hit.text; *p; p++)
		lines += *p == '\n';
	ck_assert_uint_le(lines, 24);
}
END_TEST

/* A new type has a path in some layout, and a reader, or nothing in it identifies its build. GSYM is made
 * here, and split debug information is found beside its program. */
START_TEST(types_have_paths_and_readers)
{
	for (unsigned t = 1; t < FILETYPES; t++) {
		bool path = false;

		for (unsigned i = 0; layout_at(i); i++)
			for (const struct layout_row *row = layout_at(i)->rows; row->pattern; row++)
				path = path || row->type == t;
		ck_assert_msg(path == (t != FILETYPE_GSYM && t != FILETYPE_SYM && t != FILETYPE_ELF_DWO), "%s",
			filetypes[t].name);
		ck_assert_msg(obj_reads(t) || filetypes[t].flags & (TYPE_ANONYMOUS | TYPE_MADE), "%s",
			filetypes[t].name);
	}
}
END_TEST

/* What other folders take for granted of the flags. */
START_TEST(layout_flags)
{
	unsigned stores = 0;

	for (unsigned i = 0; layout_at(i); i++) {
		const struct layout *l = layout_at(i), *tiered = l->tiered ? layout_find(l->tiered) : NULL;

		ck_assert_int_eq(l->tiered != NULL, tiered != NULL);
		ck_assert(!tiered || (tiered->flags & LAYOUT_TWO_TIER && tiered->rows == l->rows));
		ck_assert(!tiered || tiered->flags == (l->flags | LAYOUT_TWO_TIER));
		stores += l->flags & LAYOUT_SYMBOL_STORE ? 1 : 0;
	}
	ck_assert_uint_eq(stores, 2);
	ck_assert(layout_find("breakpad")->flags & LAYOUT_CODE_ID_LOOKUP);
	ck_assert(layout_find("native")->flags & LAYOUT_CODE_ID_LOOKUP);
	ck_assert(layout_find("breakpad")->flags & LAYOUT_TECKEN);
	ck_assert(!(layout_find("native")->flags & LAYOUT_TECKEN));
}
END_TEST

UNIT_MAIN("layout", every_row, odd_ids, zeros, names_in_paths, listed, printed, windows,
	apple_and_others, spellings, candidates, decimal_ages, candidates_of_forty_digits, one_file, tree,
	tree_else_dir, tree_gsym_meanings, joined_sources, entries, bundles, sources, hostile,
	readme_names_folders, types_have_paths_and_readers, layout_flags)

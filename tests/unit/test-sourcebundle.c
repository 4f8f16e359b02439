/* Tests formats/obj/sourcebundle.c and the zip reader below it, on archives built in memory: stored and
 * deflated, with 64-bit ends, with offsets that count the bundle's header and offsets that do not,
 * and with false manifests. Also tests an archive of another tool, where present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"
#include "scratch.h"
#include "base/path.h"
#include "worths.h"
#include "zips.h"

#define GUID "C0BCC3F19827FE653058404B2831D9E6"
#define DEBUG_ID "c0bcc3f1-9827-fe65-3058-404b2831d9e6"
#define BUILD_ID "f1c3bcc0279865fe3058404b2831d9e64135386c"
#define MANIFEST "{\"files\":{\"files/a.c\":{\"type\":\"source\",\"path\":\"/x/a.c\",\"debug_id\":\"no\"}}," \
	"\"arch\":\"x86_64\",\"code_id\":\"" BUILD_ID "\",\"debug_id\":\"" DEBUG_ID "\"," \
	"\"object_name\":\"/usr/bin/crash\"}"

/* ---- building ----------------------------------------------------------------------- */

static void begin(struct image *m)
{
	memset(m, 0, sizeof(*m));
	put(m, 0x42535953, 4); /* SYSB */
	put(m, 2, 4);
}

static struct image *bundle_of(struct image *m, const char *manifest, unsigned method)
{
	begin(m);
	member(m, "files/a.c", "int main(void) { return 0; }\n", 0, false);
	member(m, "manifest.json", manifest, method, false);
	end_with(m, false, "");
	return m;
}

static struct image image;

static struct obj_slice must(const char *manifest)
{
	bundle_of(&image, manifest, 0);
	return object_must(image.p, image.n, 0);
}

/* ---- bundles ------------------------------------------------------------------------ */

START_TEST(every_way_to_pack)
{
	for (unsigned i = 0; i < 32; i++) {
		struct obj_slice s;

		begin(&image);
		image.counted_from = i & 1 ? 8 : 0;
		member(&image, "files/a.c", "int x;\n", i & 2 ? 8 : 0, i & 4);
		member(&image, "manifest.json", MANIFEST, i & 2 ? 8 : 0, i & 4);
		member(&image, "files/b.c", "", 0, false);
		end_with(&image, i & 8, i & 16 ? "a comment PK\5\6 of some length, twenty-two bytes" : "");
		s = object_must(image.p, image.n, 0);
		object_debug_id(&s, DEBUG_ID);
		ck_assert_str_eq(s.module.code_id, BUILD_ID);
		ck_assert_str_eq(s.module.debug_file, "crash");
		ck_assert_str_eq(s.arch, "x86_64");
		ck_assert_str_eq(s.format, "sourcebundle");
		ck_assert_int_eq(s.kind, OBJ_SOURCES);
		ck_assert_worth(s, "sources");
		ck_assert_int_eq(s.module.object, OBJECT_ELF);
	}
}
END_TEST

/* What the program is, follows from how its two ids go together. */
START_TEST(objects)
{
	ck_assert_int_eq(must("{\"debug_id\":\"" DEBUG_ID "\",\"code_id\":\"" GUID "\"}").module.object,
		OBJECT_MACHO);
	ck_assert_int_eq(must("{\"debug_id\":\"" DEBUG_ID "\",\"code_id\":\"" GUID "\",\"arch\":\"wasm32\"}")
		.module.object, OBJECT_WASM);
	ck_assert_int_eq(must("{\"debug_id\":\"" DEBUG_ID "-1\",\"code_id\":\"5ab380779000\"}").module.object,
		OBJECT_PE);
	ck_assert_int_eq(must("{\"debug_id\":\"" DEBUG_ID "\"}").module.object, OBJECT_UNKNOWN);
	ck_assert_int_eq(must("{\"debug_id\":\"" DEBUG_ID "\",\"code_id\":\"f1c3bcc0279865fe3058404b2831d9\"}")
		.module.object, OBJECT_UNKNOWN);
}
END_TEST

START_TEST(manifests)
{
	struct obj_slice s = must(" \n{ \"x\" : [1, {\"debug_id\": \"no\"}, \"debug_id\"], \"arch\":null,"
		"\"debug_id\" : \"" DEBUG_ID "-a\" , \"object_name\":\"C:\\\\b\\\\\\u0061\\u00e9.pdb\"}");

	object_debug_id(&s, DEBUG_ID "-a");
	ck_assert_str_eq(s.module.debug_file, "a\xc3\xa9.pdb");
	ck_assert_str_eq(s.arch, "unknown");
	ck_assert_worth(s, "none");
	s = must("{\"debug_id\":\"00000000-0000-0000-0000-000000000000\",\"code_id\":\"-\",\"files\":{}}");
	ck_assert(!s.module.debug_id.set);
	ck_assert_str_eq(s.module.code_id, "");
	s = must("{\"object_name\":\"a\\u0000b\",\"debug_id\":\"zz\"}");
	ck_assert_str_eq(s.module.debug_file, "");
	ck_assert(!s.module.debug_id.set);
}
END_TEST

START_TEST(broken_manifests)
{
	static const char *const texts[] = {"", "[]", "{", "{\"debug_id", "{\"debug_id\":\"a", "{\"a\\",
		"{\"\\u12\"}", "{\"\\uzzzz\":1}", "x{}"};

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		bundle_of(&image, texts[i], 0);
		object_broken(image.p, image.n, "its manifest is not a JSON object");
	}
}
END_TEST

START_TEST(broken_archives)
{
	begin(&image);
	member(&image, "files/a.c", "x", 0, false);
	end_with(&image, false, "");
	object_broken(image.p, image.n, "it has no manifest");
	bundle_of(&image, MANIFEST, 8);
	object_broken(image.p, image.n - 1, "has no end");
	object_broken(image.p, 8, "has no end");
	image.p[image.n - 22 + 12] ^= 0xff;
	object_broken(image.p, image.n, "its directory");
	bundle_of(&image, MANIFEST, 8);
	image.p[image.n - 22 - image.entries_n] = 'X';
	object_broken(image.p, image.n, "an invalid entry");
	bundle_of(&image, MANIFEST, 12);
	object_broken(image.p, image.n, "packed by an unsupported method");
	bundle_of(&image, MANIFEST, 8);
	memset(image.p + 120, 0x55, 40);
	object_broken(image.p, image.n, "cannot be unpacked");
}
END_TEST

/* Four gigabytes out of a hundred bytes: refused for its numbers, before there is room for it. */
START_TEST(bombs)
{
	size_t at;

	bundle_of(&image, MANIFEST, 8);
	at = image.n - 22 - 46 - strlen("manifest.json");
	memset(image.p + at + 24, 0xff, 4);
	image.p[at + 24] = 0xf0;
	object_broken(image.p, image.n, "bytes of manifest.json");
	memset(image.p + at + 24, 0, 4);
	image.p[at + 26] = 0x80; /* eight megabytes */
	object_broken(image.p, image.n, "contradict each other");
}
END_TEST

START_TEST(keys)
{
	struct obj_slice s;
	struct err e;

	bundle_of(&image, MANIFEST, 8);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_SOURCEBUNDLE, GUID "0", &s, &e), 1);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_SOURCEBUNDLE, GUID "1", &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is debug id " GUID "0, not " GUID "1");
	ck_assert_int_eq(object_check("PK\3\4", 4, FILETYPE_SOURCEBUNDLE, GUID "0", &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is a zip archive");
}
END_TEST

static struct obj_slice named(enum filetype t, const char *base)
{
	struct obj_slice s = {.types = {t}, .n_types = 1, .kind = OBJ_DEBUG};

	obj_take_name(&s, base);
	return s;
}

/* What is learned of a module is what others are asked by, so the name of a file is taken for no
 * more than it is. */
START_TEST(names)
{
	static const char uuid[] = "2d10c42f-591d-3265-b147-78ba0868073f";
	static const char *const maps[] = {"2D10C42F-591D-3265-B147-78BA0868073F.plist",
		"2d10c42f591d3265b14778ba0868073f.bcsymbolmap", "2d10c42f591d3265b14778ba0868073f"};
	static const char *const none[] = {"", ".", "a.plist", "2d10c42f591d3265b14778ba0868073f1.plist",
		"2d10c42f591d3265b14778ba0868073f0001.plist", "2d10c42f-591d-3265-b147-78ba0868073.plist"};
	static const char *const words[] = {"executable", "Debuginfo", "symbols", "_.debug", "elf"};
	static const struct {
		const char *id, *base;
		bool none;
	} ids[] = {
		{"dfb85de42daffd09640c8fe377d572de3e168920", "b85de42daffd09640c8fe377d572de3e168920.debug", true},
		{"dfb85de42daffd09640c8fe377d572de3e168920", "DFB85DE42DAFFD09640C8FE377D572DE3E168920", true},
		{"67e9247c814e392ba027dbde6748fcbf", "DBDE6748FCBF.app", true},
		{"67e9247c814e392ba027dbde6748fcbf", "DBDE6748FCBE.app", false},
		{"67e9247c814e392ba027dbde6748fcbf", "67e9247c814e392ba027dbde6748fcb", false},
		{"67e9247c814e392ba027dbde6748fcbf", "bf", false},
		{"ab", "abababababababababababababababab", false},
	};
	struct obj_slice s;

	bundle_of(&image, "{\"debug_id\":\"" DEBUG_ID "-1\",\"code_id\":\"5ab380779000\"}", 0);
	s = object_must(image.p, image.n, 0);
	obj_take_name(&s, "x.src.zip");
	ck_assert_str_eq(s.module.code_file, "");
	ck_assert_str_eq(s.module.debug_file, "");
	s = named(FILETYPE_SOURCEBUNDLE, "x.src.zip");
	ck_assert_str_eq(s.module.code_file, "");
	ck_assert_str_eq(s.module.debug_file, "x.src.zip");
	s = named(FILETYPE_PE, "x.dll");
	ck_assert_str_eq(s.module.code_file, "x.dll");
	ck_assert_str_eq(s.module.debug_file, "");
	s = named(FILETYPE_PDB, "x.pdb");
	ck_assert_str_eq(s.module.code_file, "");
	ck_assert_str_eq(s.module.debug_file, "x.pdb");
	s = named(FILETYPE_ELF_DEBUG, "x.so.debug");
	ck_assert_str_eq(s.module.code_file, "x.so");
	ck_assert_str_eq(s.module.debug_file, "x.so");
	ck_assert_str_eq(named(FILETYPE_ELF_DEBUG, "x.so.debug-zstd").module.code_file, "x.so");
	ck_assert_str_eq(named(FILETYPE_ELF_DEBUG, "x.debugger").module.code_file, "x.debugger");
	ck_assert_str_eq(named(FILETYPE_ELF_DEBUG, ".debug").module.code_file, ".debug");
	ck_assert_str_eq(named(FILETYPE_PE, "x.dll.debug").module.code_file, "x.dll.debug");
	ck_assert_str_eq(named(FILETYPE_PORTABLEPDB, "x.pdbx").module.debug_file, "x.pdb");
	ck_assert_str_eq(named(FILETYPE_PDB, "x.pdbx").module.debug_file, "x.pdbx");
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		s = named(FILETYPE_ELF_DEBUG, words[i]);
		ck_assert_str_eq(s.module.code_file, "");
		ck_assert_str_eq(s.module.debug_file, "");
		ck_assert_str_eq(named(FILETYPE_PDB, words[i]).module.debug_file, "");
	}
	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
		s = (struct obj_slice){.types = {FILETYPE_ELF_DEBUG}, .n_types = 1, .kind = OBJ_DEBUG};
		module_set_code_id(&s.module, ids[i].id, strlen(ids[i].id));
		obj_take_name(&s, ids[i].base);
		ck_assert_msg(!s.module.code_file[0] == ids[i].none, "%s", ids[i].base);
	}
	/* Their names stand in them. */
	ck_assert_str_eq(named(FILETYPE_BREAKPAD, "x.sym").module.debug_file, "<unknown>");
	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++) {
		s = named(i ? FILETYPE_BCSYMBOLMAP : FILETYPE_UUIDMAP, maps[i]);
		object_debug_id(&s, uuid);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(none); i++)
		ck_assert(!named(FILETYPE_UUIDMAP, none[i]).module.debug_id.set);
	ck_assert(!named(FILETYPE_PDB, maps[0]).module.debug_id.set);
}
END_TEST

START_TEST(hostile_and_in_part)
{
	struct key k = {.type = FILETYPE_SOURCEBUNDLE, .id = GUID "0"};

	bundle_of(&image, MANIFEST, 8);
	ck_assert_uint_gt(object_hostile(image.p, image.n, 2), 50);
	object_prefixes_agree(image.p, image.n, NULL, 0);
	object_prefixes_agree(image.p, image.n, &k, 0);
}
END_TEST

/* ---- archives ----------------------------------------------------------------------- */

START_TEST(members)
{
	char long_name[700];
	struct zip_entry entry;
	struct zip z;
	struct err e = {0};
	struct view v;
	char *text;
	size_t n;

	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	memset(&image, 0, sizeof(image));
	member(&image, "a", "first", 0, false);
	member(&image, long_name, "x", 0, false);
	member(&image, "dir/b", "second", 8, true);
	end_with(&image, true, "");
	v = view_of_mem(image.p, image.n);
	ck_assert_int_eq(zip_open(&z, &v, &e), 0);
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	ck_assert_str_eq(entry.name, "a");
	ck_assert_int_eq(zip_extract(&z, &entry, 4, &text, &n, &e), -EFBIG);
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	ck_assert_str_eq(entry.name, "");
	ck_assert_int_eq(zip_next(&z, &entry, &e), 0);
	ck_assert_str_eq(entry.name, "dir/b");
	ck_assert_int_eq(zip_extract(&z, &entry, 100, &text, &n, &e), 0);
	ck_assert_str_eq(text, "second");
	ck_assert_uint_eq(n, 6);
	free(text);
	entry.encrypted = true;
	ck_assert_int_eq(zip_extract(&z, &entry, 100, &text, &n, &e), -ENOTSUP);
	ck_assert_int_eq(zip_next(&z, &entry, &e), -ENOENT);
	v = view_of_mem("PK", 2);
	ck_assert_int_eq(zip_open(&z, &v, &e), -ENOMSG);
}
END_TEST

START_TEST(made_by_zip)
{
	_cleanup_free_ char *bytes = NULL;
	char line[1024];
	struct obj_slice s;
	size_t n;

	if (system("command -v zip >/dev/null") != 0) {
		printf("# made_by_zip: skipped, there is no zip(1)\n");
		return;
	}
	snprintf(line, sizeof(line), "cd %s && printf '%%s' '%s' >manifest.json && cp manifest.json a.c && "
		"zip -q x.zip a.c manifest.json && { printf 'SYSB\\2\\0\\0\\0'; cat x.zip; } >bundle",
		scratch_dir(), MANIFEST);
	ck_assert_int_eq(system(line), 0);
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("bundle"), 1 << 20, &bytes, &n), 0);
	s = object_must(bytes, n, 0);
	object_debug_id(&s, DEBUG_ID);
	scratch_end();
}
END_TEST

UNIT_MAIN("sourcebundle", every_way_to_pack, objects, manifests, broken_manifests, broken_archives, bombs,
	keys, names, hostile_and_in_part, members, made_by_zip)

/* layout/: every row printed and read back, and what paths of the mount mean. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "id/key.h"
#include "layout/layouts.h"
#include "layout/tree.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"

static struct artifact sample(enum filetype type, enum object_type object)
{
	struct artifact a = {.type = type, .m.object = object};

	snprintf(a.m.code_id, sizeof(a.m.code_id), "%s", ID);
	snprintf(a.m.code_file, sizeof(a.m.code_file), "libM-2.23.so");
	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "libM-2.23.so");
	debug_id_parse(&a.m.debug_id, "e45db8df-af2d-09fd-640c-8fe377d572de", 36);
	if (type == FILETYPE_SOURCE)
		snprintf(a.m.path, sizeof(a.m.path), "/usr/src/a b.c");
	if (type == FILETYPE_SECTION)
		snprintf(a.m.path, sizeof(a.m.path), ".debug_info");
	return a;
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
static void walk_path(const struct layout *l, const struct artifact *a, unsigned nth)
{
	static const enum casing casings[] = {CASING_DEFAULT, CASING_LOWER, CASING_UPPER};
	bool named = a->type == FILETYPE_SOURCE || a->type == FILETYPE_SECTION;
	struct layout_hit hit;

	for (unsigned c = 0; c < (named ? 1 : ARRAY_SIZE(casings)); c++) {
		_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);

		ck_assert_int_eq(layout_path(l, a, casings[c], nth, &path), 0);
		for (unsigned seed = 0; seed < (named ? 1 : 10); seed++) {
			layout_parse(l, path.p, &hit);
			ck_assert_msg(hit.what & LAYOUT_FILE, "%s %s", l->name, path.p);
			ck_assert_msg(among(&hit, a), "%s %s", l->name, path.p);
			flip_case(path.p, seed);
		}
		for (char *slash; (slash = strrchr(path.p, '/'));) {
			*slash = '\0';
			layout_parse(l, path.p, &hit);
			ck_assert_msg(hit.what & LAYOUT_DIR, "%s %s", l->name, path.p);
		}
	}
}

START_TEST(every_row)
{
	unsigned rows = 0;

	for (const struct layout *l = layouts; l->name; l++)
		for (const struct layout_row *row = l->rows; row->pattern; row++) {
			struct artifact a = sample(row->type, row->object);
			_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);

			for (unsigned nth = 0; layout_path(l, &a, CASING_DEFAULT, nth, &path) == 0; nth++) {
				walk_path(l, &a, nth);
				rows++;
			}
		}
	ck_assert_uint_ge(rows, 20);
}
END_TEST

START_TEST(printed)
{
	static const struct {
		const char *layout;
		enum filetype type;
		const char *path;
	} rows[] = {
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
		{"foo.dwp", TREE_NONE, 0},
		{"symstore/libm.so/elf-buildid-" ID "/other.so", TREE_NONE, 0},
		{"symstore/libm.so/elf-buildid-" ID "/libm.so", TREE_LEAF, FILETYPE_ELF_CODE},
		/* A path in a folder whose layout cannot mean it. */
		{"symstore/buildid/" ID "/debuginfo", TREE_LEAF, FILETYPE_ELF_DEBUG},
		{"perf/.build-id/df/b85de42daffd09640c8fe377d572de3e168920", TREE_DIR, 0},
		{"perf/.build-id/df/b85de42daffd09640c8fe377d572de3e168920/elf", TREE_LEAF, FILETYPE_ELF_CODE},
		{"symstore/a\x01" "b/elf-buildid-" ID "/a\x01" "b", TREE_NONE, 0},
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

UNIT_MAIN("layout", every_row, printed, tree, sources, hostile)

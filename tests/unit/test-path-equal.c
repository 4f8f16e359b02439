/* Compares the reader of paths with the first one (path-oracle.c), which is slow and easy to follow: paths of all
 * tables, paths made of parts that readers must tell apart, and mutations of both. SYMFS_PATH_ROUNDS is the number of
 * random paths, SYMFS_TEST_SEED chooses others. With SYMFS_PATH_ROUNDS, every layout reads each path of a table. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "names/id/key.h"
#include "names/layout/layouts.h"
#include "names/layout/tree.h"
#include "unit/path-oracle.h"
#include "unit/row.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"
#define GUID "3249D99D0C4049318610F4E4FB0B6936"
enum { PATHS_MOST = 40000, PATH_ROOM = 8192 };

static char *known[PATHS_MOST]; /* paths to mutate */
static unsigned n_known, n_compared, n_differ, n_files;
static uint64_t state;

/* Parts of paths: words of the patterns, identifiers of lengths at which their meaning changes, names that are never
 * looked up, and bytes that no name has. */
static const char *const parts[] = {
	".build-id", "buildid", "gdb", "lldb", "symstore", "symstore2", "ssqp", "breakpad", "debuginfod",
	"unified", "slashsymbols", "native", "perf", "dsym", "source", "gsym", ".symfs", "000Admin", "README",
	"pingme.txt", "df", "DF", "32", "b85de42daffd09640c8fe377d572de3e168920",
	"b85de42daffd09640c8fe377d572de3e168920.debug", "b85de42daffd09640c8fe377d572de3e168920.src.zip", ID,
	"elf-buildid-" ID, "elf-buildid-sym-" ID, "elf-buildid-coreclr-" ID, "mach-uuid-" GUID,
	"mach-uuid-sym-" GUID, "mach-uuid-coreclr-" GUID, "r2rmap-v1-" GUID, "67E9", "247C", "814E", "392B",
	"A027", "DBDE6748FCBF", "DBDE6748FCBF.app", "DBDE6748FCBF.src.zip",
	"67E9247C-814E-392B-A027-DBDE6748FCBF", "67E9247C814E392BA027DBDE6748FCBF",
	"67E9247C814E392BA027DBDE6748FCBF.dSYM", "67E9247C-814E-392B-A027-DBDE6748FCBF.dSYM", "Demo.app.dSYM",
	"Demo.app", "Contents", "Resources", "DWARF", "Info.plist", GUID, GUID "1", GUID "12", GUID "a",
	GUID "ffffffff", GUID "9a3b4c5d", GUID "123456789", "3249d99d0c4049318610f4e4fb0b69361",
	"5AB380779000", "5AB3807709000", "5AB38077", "5AB380771", "5AB38077000000000000000000000000" "1",
	"00000000000000000000000000000000", "000000000000000000000000000000000", "0000000000000000", "00", "0",
	"1", "ab", "a", "abc", "49d99d0c4049318610f4e4fb0b69361", "49d99d0c4049318610f4e4fb0b6936",
	"49D99D0C4049318610F4E4FB0B6936ffffffff", "debuginfo", "executable", "breakpad", "sourcebundle",
	"uuidmap", "bcsymbolmap", "il2cpp", "symbols", "section", "elf", "debug", "debuginfo.meta",
	"executable.meta", "breakpad.meta", ".debug_info", "crash.pdb", "crash.PDB", "crash.sym", "crash.exe",
	"crash.exe.sym", "crash.dll", "crash.pdb.sym", "crash.src.zip", "crash.pdb.src.zip", "crash.wasm",
	"crash", "libc.so.6", "_.debug", "_.dwarf", "libmscordaccore.so", "mscordacwks_amd64.dll", "sos.dll",
	"SOS.dll", ".pdb", ".", "..", "...", "", "x.dwp", "foo.pd_", "._x", ".trash-1", "desktop.ini",
	"index2.txt", "file.ptr", ".debug", ".git", "cr", "li", "_", "_.", "\xc3\xa4\xc3\xb6x.pdb",
	"\xc3\xa4\xc3\xb6", "a\\b", "a\nb", "a\x7f" "b", "usr", "src", "include", "c++", "vector", "ls.c",
	"ls.cpp", "Makefile", "x.debug.gsym", "debuginfo.gsym", "crash.sym.gsym.o", ID "+" ID,
	"abcd+ABCD+ef01", "abcd+abc", "+", "abcd+", "1234567890123456+12345678901234560000",
};

static unsigned pick(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 11) % n);
}

/* ---- comparing -------------------------------------------------------------------------- */

static const char *files_differ(const struct artifact *a, unsigned n, const struct artifact *b, unsigned m)
{
	if (n != m)
		return "number of files";
	for (unsigned i = 0; i < n; i++) {
		const struct module *x = &a[i].m, *y = &b[i].m;

		if (a[i].type != b[i].type || x->object != y->object)
			return "type";
		if (x->debug_id.set != y->debug_id.set ||
			(x->debug_id.set && !debug_id_equal(&x->debug_id, &y->debug_id)) ||
			strcmp(x->code_id, y->code_id) != 0)
			return "id";
		if (strcmp(x->code_file, y->code_file) != 0 || strcmp(x->debug_file, y->debug_file) != 0 ||
			strcmp(x->path, y->path) != 0 || x->checksum[0] || a[i].via[0])
			return "name";
	}
	return NULL;
}

static const char *hits_differ(const struct tree_hit *a, const struct tree_hit *b)
{
	if (a->what != b->what || a->layout != b->layout || a->rest != b->rest)
		return "meaning";
	if (a->what == TREE_LINK && a->text == a->target && strcmp(a->text, b->text) != 0)
		return "target";
	if (a->file_like != b->file_like || a->else_dir != b->else_dir || a->told != b->told || a->gsym != b->gsym)
		return "flags";
	return files_differ(a->files, a->n, b->files, b->n);
}

static void differ(const char *path, const char *reader, const char *what)
{
	if (n_differ++ < 20)
		printf("# %s differs, %s: %s\n", what, reader, path);
}

/* key_equal() compares keys without making their canonical texts. */
static void compare_keys(const char *path, const struct artifact *a)
{
	static struct key keys[8];
	static unsigned at;
	struct key k;

	if (key_of(&k, a) < 0)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		char x[KEY_TEXT], y[KEY_TEXT];

		if (key_equal(&keys[i], &k) != (strcmp(key_canon(&keys[i], x), key_canon(&k, y)) == 0))
			differ(path, "key_equal()", "key");
	}
	keys[at++ % ARRAY_SIZE(keys)] = k;
}

static void compare_layout(const struct layout *l, const char *path)
{
	static struct layout_hit a, b;
	const char *what;

	layout_parse(l, path, &a);
	oracle_layout_parse(l, path, &b);
	what = a.what != b.what ? "meaning" : files_differ(a.files, a.n, b.files, b.n);
	n_compared++;
	n_files += b.n;
	if (what)
		differ(path, l->name, what);
}

static void compare_tree(const char *path)
{
	static struct tree_hit a, b;
	const char *what;

	tree_parse(path, &a);
	oracle_tree_parse(path, &b);
	what = hits_differ(&a, &b);
	n_compared++;
	n_files += b.n;
	if (what)
		differ(path, "tree", what);
	for (unsigned i = 0; i < a.n; i++)
		compare_keys(path, &a.files[i]);
}

/* ---- paths of tables ------------------------------------------------------------------- */

static void compare_everywhere(const char *path)
{
	char longer[PATH_ROOM];

	compare_tree(path);
	for (const struct layout *l = layouts; l->name; l++) {
		compare_layout(l, path);
		snprintf(longer, sizeof(longer), "%s/%s", l->folder, path);
		compare_tree(longer);
		snprintf(longer, sizeof(longer), "gsym/%s/%s.gsym", l->folder, path);
		compare_tree(longer);
		if (!l->prefix[0])
			continue;
		snprintf(longer, sizeof(longer), "%s/%s/%s", l->folder, l->prefix, path);
		compare_tree(longer);
		compare_layout(l, longer + strlen(l->folder) + 1);
	}
}

/* Each value of a table with a slash is a path. Returns their number. */
static unsigned compare_table(const char *top, const char *name, bool everywhere)
{
	char file[4096], *text = NULL, *rest, *value;
	unsigned before = n_known;
	size_t n;

	snprintf(file, sizeof(file), "%s/%s", top ? top : ".", name);
	if (path_read(AT_FDCWD, file, 16 << 20, &text, &n) < 0)
		return 0;
	rest = text;
	while ((value = strsep(&rest, "\t\n"))) {
		if (*value == '/')
			value++;
		if (!strchr(value, '/') || strlen(value) > 4000 || n_known == PATHS_MOST)
			continue;
		if (everywhere)
			compare_everywhere(value);
		compare_tree(value);
		compare_layout(&layouts[pick(13)], value);
		known[n_known++] = strdup(value);
	}
	free(text);
	return n_known - before;
}

/* ---- random paths ----------------------------------------------------------------------- */

static void make_path(char *out)
{
	unsigned n = 1 + pick(pick(4) ? 5 : 9);

	out[0] = '\0';
	if (pick(3) == 0)
		snprintf(out, PATH_ROOM, "%s/", layouts[pick(13)].folder);
	for (unsigned i = 0; i < n; i++) {
		size_t at = strlen(out);

		snprintf(out + at, PATH_ROOM - at, "%s%s", parts[pick(ARRAY_SIZE(parts))], i + 1 < n ? "/" : "");
	}
}

/* The beginning of the component in which the byte is. */
static char *component_at(char *path, size_t at)
{
	while (at && path[at - 1] != '/')
		at--;
	return path + at;
}

static void insert(char *path, size_t at, const char *text)
{
	size_t n = strlen(path), more = strlen(text);

	if (n + more >= PATH_ROOM)
		return;
	memmove(path + at + more, path + at, n - at + 1);
	memcpy(path + at, text, more);
}

static void cut(char *path, size_t at, size_t n)
{
	size_t all = strlen(path);

	n = MIN(n, all - at);
	memmove(path + at, path + at + n, all - at - n + 1);
}

static void mutate(char *path)
{
	static const char bytes[] = "0123456789abcdefABCDEF/+._-\\ gx\x01\x7f\xc3";
	size_t n = strlen(path), at = n ? pick((unsigned)n) : 0;
	char text[PATH_ROOM], *c = component_at(path, at);

	switch (n ? pick(12) : 4) {
	case 0: /* another byte */
		path[at] = bytes[pick(sizeof(bytes) - 1)];
		break;
	case 1: /* another letter case */
		for (char *p = c; *p && *p != '/'; p++)
			*p = (char)(((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z') ? *p ^ 0x20 : *p);
		break;
	case 2:
		cut(path, at, 1 + pick(3));
		break;
	case 3: /* without a component */
		cut(path, (size_t)(c - path), strcspn(c, "/") + 1);
		break;
	case 4: /* with another component */
		snprintf(text, sizeof(text), "%s/", parts[pick(ARRAY_SIZE(parts))]);
		insert(path, (size_t)(c - path), text);
		break;
	case 5: /* with another component in place of this one */
		cut(path, (size_t)(c - path), strcspn(c, "/"));
		insert(path, (size_t)(c - path), parts[pick(ARRAY_SIZE(parts))]);
		break;
	case 6: /* twice the component */
		snprintf(text, sizeof(text), "%.*s/", (int)strcspn(c, "/"), c);
		insert(path, (size_t)(c - path), text);
		break;
	case 7: /* some bytes twice: ids and names that are too long */
		snprintf(text, sizeof(text), "%.*s", (int)pick(pick(10) ? 10 : 300), path + at);
		insert(path, at, text);
		break;
	case 8:
		snprintf(text, sizeof(text), "%c", bytes[pick(sizeof(bytes) - 1)]);
		insert(path, at, text);
		break;
	case 9: /* the end of another path */
		snprintf(text, sizeof(text), "%s", known[pick(n_known)]);
		path[at] = '\0';
		insert(path, at, text + pick((unsigned)strlen(text) + 1));
		break;
	case 10:
		path[at] = '\0';
		break;
	default: /* within a folder, and GSYM */
		snprintf(text, sizeof(text), "%s%s/", pick(4) ? "" : "gsym/", layouts[pick(13)].folder);
		insert(path, 0, text);
		if (pick(4) == 0 && strlen(path) + 8 < PATH_ROOM)
			strcat(path, pick(2) ? ".gsym" : ".gsym.o");
	}
}

static void compare_random(unsigned long rounds)
{
	char path[PATH_ROOM];

	while (rounds--) {
		unsigned changes = pick(4);

		if (pick(3))
			snprintf(path, sizeof(path), "%s", known[pick(n_known)]);
		else
			make_path(path);
		while (changes--)
			mutate(path);
		if (pick(2)) {
			insert(path, 0, "/");
			insert(path, 0, layouts[pick(13)].folder);
		}
		compare_tree(path);
		compare_layout(&layouts[pick(13)], path);
	}
}

static int result(unsigned nth, const char *what)
{
	bool bad = n_differ || !n_files;

	printf("# %u comparisons with %u files, %u differences\n", n_compared, n_files, n_differ);
	printf("%sok %u - %s\n", bad ? "not " : "", nth, what);
	n_compared = n_files = n_differ = 0;
	return bad;
}

static int run_tests(int argc, char **argv)
{
	static const char *const tables[] = {"tests/data/tables/file-paths.tsv", "tests/data/tables/paths.tsv",
		"tests/data/tables/spellings.tsv", "../shared/vectors/fixture_store_paths.tsv",
		"../shared/vectors/paths.tsv", "../shared/vectors/symstore_requests.tsv"};
	static const char *const odd[] = {"", "/",
		"/\xa4\xc3\xb6" /* has an empty tier */, "ab++/x", "+", "source/+"};
	const char *top = getenv("top_srcdir"), *rounds = getenv("SYMFS_PATH_ROUNDS");
	const char *seed = getenv("SYMFS_TEST_SEED");
	int bad;

	printf("1..2\n");
	state = 0x9e3779b97f4a7c15 + (seed ? strtoull(seed, NULL, 10) * 0xbf58476d1ce4e5b9 : 0);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		printf("# %u paths of %s\n", compare_table(top, tables[i], rounds), tables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		compare_everywhere(odd[i]);
	bad = result(1, "paths of tables");
	compare_random(rounds ? strtoul(rounds, NULL, 10) : 5000);
	bad |= result(2, "random paths");
	while (n_known)
		free(known[--n_known]);
	return bad;
}

UNIT_ROW("path-equal", run_tests)

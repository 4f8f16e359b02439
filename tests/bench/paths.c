/* Times tree_parse() on paths of every kind, and the first reader of paths beside it. It prints a line `NANOSECONDS
 * NANOSECONDS BYTES PATH` for each path: the processor time of tree_parse(), and that of the first reader. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "names/id/key.h"
#include "names/layout/tree.h"
#include "unit/path-oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ID "dfb85de42daffd09640c8fe377d572de3e168920"
#define REST "b85de42daffd09640c8fe377d572de3e168920"
#define GUID "3249D99D0C4049318610F4E4FB0B6936"
#define UUID_DIRS "67E9/247C/814E/392B/A027/DBDE6748FCBF"

/* Of paths that clients of the mount and of the server send, and of paths that are meant to be slow. */
static const char *const paths[] = {
	".build-id/df/" REST ".debug",
	"gdb/.build-id/df/" REST ".debug",
	"gdb/.build-id/df/" REST,
	"df/" REST ".debug",
	"buildid/" ID "/debuginfo",
	"debuginfod/buildid/" ID "/debuginfo",
	"debuginfod/buildid/" ID "/source/usr/src/coreutils/src/ls.c",
	"debuginfod/buildid/" ID "/section/.debug_info",
	"source/" ID "/usr/src/coreutils/src/ls.c",
	"crash.pdb/" GUID "1/crash.sym",
	"breakpad/crash.pdb/" GUID "1/crash.sym",
	"crash.pdb/" GUID "1/crash.pdb",
	"symstore/crash.pdb/" GUID "1/crash.pdb",
	"symstore2/cr/crash.pdb/" GUID "1/crash.pdb",
	"symstore/crash.exe/5AB380779000/crash.exe",
	"crash.exe/5AB380779000/crash.exe",
	"ssqp/libc.so/elf-buildid-" ID "/libc.so",
	"_.debug/elf-buildid-sym-" ID "/_.debug",
	"unified/df/" REST "/debuginfo",
	"unified/32/49d99d0c4049318610f4e4fb0b69361/breakpad",
	"df/" REST "/breakpad",
	"slashsymbols/ls/" ID "/symbols",
	"native/" UUID_DIRS,
	"lldb/" UUID_DIRS,
	"perf/.build-id/df/" REST "/elf",
	"dsym/67E9247C-814E-392B-A027-DBDE6748FCBF/Demo.app.dSYM/Contents/Resources/DWARF/Demo",
	"gsym/gdb/.build-id/df/" REST ".debug.gsym",
	"gsym/crash.pdb/" GUID "1/crash.sym.gsym",
	"usr/lib/debug/x/y",
	"usr/lib/x86_64-linux-gnu/libc.so.6.debug",
	"symstore",
	"gdb/.build-id/df",
	"crash.pdb",
	"README",
	".symfs/why/x",
	"000000000000000000000000000000000000000000/" ID "/" ID,
	"00000000000000000000000000000000/00000000000000000000000000000000/00000000000000000000000000000000",
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef void parser(const char *path, struct tree_hit *hit);

/* The best of some rounds of some milliseconds. */
static double time_of(parser *parse, const char *path, unsigned rounds, double ms)
{
	static struct tree_hit hit;
	double best = 1e18;

	while (rounds--) {
		uint64_t begin = now_ns(), took;
		unsigned n = 0;

		do {
			parse(path, &hit);
			took = now_ns() - begin;
			n++;
		} while (n < 16 || (double)took < ms * 1e6);
		begin = now_ns();
		for (unsigned i = 0; i < n; i++)
			parse(path, &hit);
		best = MIN(best, (double)(now_ns() - begin) / n);
	}
	return best;
}

static void time_path(const char *path, const char *shown)
{
	printf("%.0f %.0f %zu %s\n", time_of(tree_parse, path, 5, 4), time_of(oracle_tree_parse, path, 1, 1),
		strlen(path), shown);
}

/* Repeats `unit` to `n` bytes, between `begin` and `end`. */
static void time_repeated(const char *begin, const char *unit, size_t n, const char *end)
{
	char path[8192] = "", shown[128];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s", begin);

	while (at + strlen(unit) + strlen(end) <= n)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s", unit);
	snprintf(path + at, sizeof(path) - at, "%s", end);
	snprintf(shown, sizeof(shown), "%s(%s)*%s", begin, unit, end);
	time_path(path, shown);
}

/* ---- the slowest path of each layout ---------------------------------------------------- */

struct slowest {
	const struct layout *l;
	double ns;
	char path[LAYOUT_PATH_MAX + 64];
};

static int compare_path(void *ctx, unsigned row, const char *path)
{
	struct slowest *s = ctx;
	char whole[sizeof(s->path)];
	double ns;

	snprintf(whole, sizeof(whole), "%s%s%s", s->l->prefix, s->l->prefix[0] ? "/" : "", path);
	ns = strlen(whole) <= 256 ? time_of(tree_parse, whole, 2, 0) : 0;
	if (ns > s->ns) {
		s->ns = ns;
		memcpy(s->path, whole, sizeof(whole));
	}
	return 0;
}

/* Prints artifacts of all types, with long names, by all rows, and times the slowest path outside the folder of the
 * layout: there it is read by all layouts. */
static void time_layout(const struct layout *l)
{
	static const char *const ids[] = {ID, "5AB3807709000", GUID};
	static const char *const endings[] = {".pdb", ".exe", ".wasm"};
	struct slowest s = {.l = l};

	for (unsigned i = 0; i < FILETYPES * OBJECT_TYPES * 9u; i++) {
		struct artifact a = {.type = i % FILETYPES};
		struct module *m = &a.m;

		m->object = i / FILETYPES % OBJECT_TYPES;
		m->debug_id = (struct debug_id){.set = true, .pdb20 = i % 2, .guid = {1, 2, 3, 4, 5, 6}, .age = 0x12};
		snprintf(m->code_id, sizeof(m->code_id), "%s", ids[i / FILETYPES / OBJECT_TYPES % 3]);
		memset(m->code_file, 'x', 90);
		strcpy(m->code_file + 90, endings[i / FILETYPES / OBJECT_TYPES / 3]);
		memcpy(m->debug_file, m->code_file, sizeof(m->code_file));
		snprintf(m->path, sizeof(m->path), "/usr/src/%s", m->code_file);
		layout_each_printed(l, &a, compare_path, &s);
	}
	if (s.ns)
		time_path(s.path, s.path);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *begin, *unit, *end;
	} repeated[] = {
		{"", "a/", "a"},
		{"", "0", ""},
		{"", "ab/", "ab.debug"},
		{"", "x", "/" GUID "1/x.sym"},
		{"debuginfod/buildid/" ID "/source/", "a/", "b.c"},
		{"source/", "abcd+", "abcd/usr/src/a.c"},
		{"gsym/unified/df/", "0", "/debuginfo.gsym"},
		{"symstore2/cr/crash.pdb/", "0", "/crash.pdb"},
		{"", "index2.txt/", "file.ptr"},
		{"source/" ID "/", "x.sw/", "b.c"},
		{"symstore/crash.pdb/", "1", "/crash.pdb"},
		{"", "/", ""},
	};
	static const size_t lengths[] = {250, 2000, 4000};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		time_path(paths[i], paths[i]);
	for (unsigned i = 0; layout_at(i); i++)
		time_layout(layout_at(i));
	for (size_t i = 0; i < ARRAY_SIZE(repeated); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lengths); j++)
			time_repeated(repeated[i].begin, repeated[i].unit, lengths[j], repeated[i].end);
	return 0;
}

/* Times tree_parse() on paths of every kind: paths [SECONDS-A-PATH] prints a line `NANOSECONDS BYTES PATH` for each, the
 * best of five rounds. Without an argument each round takes 20 ms. The time is processor time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "layout/tree.h"

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

static void time_path(const char *path, const char *shown, struct tree_hit *hit, uint64_t round_ns)
{
	double best = 1e18;

	for (unsigned round = 0; round < 5; round++) {
		uint64_t begin = now_ns(), took;
		unsigned n = 0;

		do {
			for (unsigned i = 0; i < 16; i++)
				tree_parse(path, hit);
			n += 16;
			took = now_ns() - begin;
		} while (took < round_ns);
		best = MIN(best, (double)took / n);
	}
	printf("%.0f %zu %s\n", best, strlen(path), shown);
}

/* Repeats `unit` to `n` bytes, between `begin` and `end`. */
static void time_repeated(const char *begin, const char *unit, size_t n, const char *end, struct tree_hit *hit,
	uint64_t round_ns)
{
	char path[8192] = "", shown[128];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s", begin);

	while (at + strlen(unit) + strlen(end) <= n)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s", unit);
	snprintf(path + at, sizeof(path) - at, "%s", end);
	snprintf(shown, sizeof(shown), "%s(%s)*%s", begin, unit, end);
	time_path(path, shown, hit, round_ns);
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
	};
	static const size_t lengths[] = {250, 2000, 4000};
	uint64_t round_ns = argc > 1 ? (uint64_t)(strtod(argv[1], NULL) * 2e8) : 20000000;
	struct tree_hit *hit = malloc(sizeof(*hit));

	if (!hit)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		time_path(paths[i], paths[i], hit, round_ns);
	for (size_t i = 0; i < ARRAY_SIZE(repeated); i++)
		for (size_t j = 0; j < ARRAY_SIZE(lengths); j++)
			time_repeated(repeated[i].begin, repeated[i].unit, lengths[j], repeated[i].end, hit, round_ns);
	free(hit);
	return 0;
}

/* Compares the answers of a GSYM file that was made of debug information with those of the Breakpad file that symfs
 * made of the same debug information. The Breakpad file is read as Mozilla's symbolication service reads it
 * (eliot.h).
 *
 *	sym-agree DEBUG.gsym FILE.sym N SEED [SHOWN]
 *
 * Looks N random addresses up that lie in functions of the first file, and a tenth as many anywhere between its first
 * and its last function. Prints one line with counts, and above it the first SHOWN differences (5). Names of the
 * first file are demangled, and its paths are written as readers of Breakpad files show them. Where the first file
 * has no function, the second may have a PUBLIC, which has no end. Exit status 1: an answer differs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/map.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "derive/convert/make.h"
#include "formats/gsym/gsym.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MOST 16384

static uint64_t state;

static uint64_t next(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 20;
}

static void open_gsym(const char *path, struct span *map, struct gsym *g)
{
	struct err e = {0};

	if (map_file(map, path, &e) < 0 || gsym_open(g, *map, &e) < 0 || gsym_prepare(g, &e) < 0) {
		fprintf(stderr, "%s: %s\n", path, e.text);
		exit(2);
	}
}

static void make_gsym(const char *path, struct buf *bytes, struct gsym *g)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_map_ struct span file = {0};
	struct gsym_make_opts o = {.eliot = true, .strict = true};
	struct gsym_made made;
	struct err e = {0};

	if (map_file(&file, path, &e) < 0 || gsym_writer_new(&w) < 0 || gsym_make(w, file, &o, &made, &e) < 0 ||
		gsym_write(w, GSYM_V1, false, NULL, bytes, NULL, &e) < 0 ||
		gsym_open(g, (struct span){(uint8_t *)bytes->p, bytes->n}, &e) < 0) {
		fprintf(stderr, "%s: %s\n", path, e.text);
		exit(2);
	}
}

static const char *name_shown(const char *name, bool debug, struct buf *room)
{
	int64_t more;

	if (!debug)
		return eliot_name(name, &more);
	name += strspn(name, " "); /* a record cannot begin with a blank */
	return !name[0] ? "<name omitted>" : demangle(name, room) ? buf_text(room) : name;
}

static const char *path_shown(const struct gsym_frame *f, char room[static PATH_MOST])
{
	char whole[PATH_MOST];

	room[0] = '\0';
	if (!eliot_file(f->dir, f->base))
		return room;
	gsym_path_text(f->dir, f->base, whole, sizeof(whole) - 1);
	eliot_path(whole, strlen(whole), room);
	return room;
}

static bool equal(const struct gsym_hit *a, const struct gsym_hit *b)
{
	static char one[PATH_MOST], two[PATH_MOST];
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);

	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (strcmp(name_shown(a->frame[i].name, true, &room),
			name_shown(b->frame[i].name, false, NULL)) != 0 ||
			strcmp(path_shown(&a->frame[i], one), path_shown(&b->frame[i], two)) != 0 ||
			a->frame[i].line != b->frame[i].line)
			return false;
	return true;
}

static void show(uint64_t addr, const struct gsym_hit *hit, bool debug)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(1 << 20);
	static char path[PATH_MOST];

	printf("  %s %" PRIx64 ", function at %" PRIx64 " size %x:", debug ? "debug" : "sym", addr, hit->start,
		hit->size);
	for (unsigned i = 0; i < hit->n; i++)
		printf(" [%s %s:%u]", name_shown(hit->frame[i].name, debug, &room), path_shown(&hit->frame[i], path),
			hit->frame[i].line);
	putchar('\n');
}

int main(int argc, char **argv)
{
	static struct gsym_hit a, b;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(1ull << 32);
	struct span map;
	struct gsym debug, sym;
	unsigned long n, same = 0, differ = 0, none = 0, only_sym = 0, shown = 5;

	if (argc < 5)
		return 2;
	open_gsym(argv[1], &map, &debug);
	make_gsym(argv[2], &bytes, &sym);
	n = strtoul(argv[3], NULL, 10);
	state = strtoull(argv[4], NULL, 10);
	if (argc > 5)
		shown = strtoul(argv[5], NULL, 10);
	for (unsigned long i = 0; i < n + n / 10; i++) {
		uint32_t at = (uint32_t)(next() % debug.count);
		uint64_t first = gsym_addr(&debug, 0), last = gsym_addr(&debug, debug.count - 1), addr;
		struct gsym_func f = {0};
		struct err e = {0};
		int r, s;

		gsym_func_at(&debug, at, &f, &e);
		addr = i < n ? f.addr + next() % MAX(f.size, 1u) : first + next() % (last - first + 1);
		r = gsym_lookup(&debug, addr, &a, &e);
		s = gsym_lookup(&sym, addr - debug.base, &b, &e);
		if (r < 0 || s < 0) {
			same += r < 0 && s < 0;
			only_sym += r < 0 && s == 0;
			none += r < 0 && s < 0;
		}
		if (r == 0 && s == 0 && equal(&a, &b)) {
			same++;
		} else if (r == 0) {
			if (differ++ < shown) {
				show(addr, &a, true);
				if (s == 0)
					show(addr - debug.base, &b, false);
			}
		}
	}
	printf("%lu addresses: %lu equal (%lu without a function), %lu only a PUBLIC before them, %lu differ\n",
		n + n / 10, same, none, only_sym, differ);
	gsym_release(&debug);
	gsym_release(&sym);
	map_release(&map);
	return differ != 0;
}

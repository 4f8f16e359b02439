/* Changes debug files at random and has real workers convert them. No file may harm the process
 * that asked. `gsym-mutate CONVERT COUNT SECONDS SEED FILE...` tries COUNT files, or, when COUNT is
 * 0, as many as SECONDS allow, and prints how their workers ended. It fails when a worker was
 * ended by a signal or a status that its limits do not explain, when a result is not whole, or
 * when a worker took longer than its limit. The file is kept as mutated-N in the working
 * directory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/map.h"
#include "base/util.h"
#include "base/bytes.h"
#include "formats/gsym/gsym.h"
#include "formats/image/image.h"
#include "derive/convert/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIMIT 20 /* seconds for one file */
#define SLACK 20 /* for a machine that is busy */
#define ENDS_MOST 64

static uint64_t state;

static uint64_t roll(uint64_t most)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return most ? (state >> 20) % most : 0;
}

/* ---- changes ------------------------------------------------------------------------- */

/* Where a change does something: mostly in a section with debug information or symbols, else in the
 * headers, else anywhere. */
static struct span pick_place(struct span file)
{
	struct span places[64];
	struct image m;
	size_t n = 0;

	if (roll(10) == 0)
		return file;
	if (image_open(&m, file, &(struct err){0}) < 0 || roll(10) == 0)
		return (struct span){file.p, MIN(file.n, (size_t)1024)};
	for (uint32_t i = 0; i < m.n_sections && n < ARRAY_SIZE(places); i++) {
		struct image_section s;

		if (image_section(&m, i, &s) < 0 || !s.bytes.n || s.name_len < 7)
			continue;
		if (memmem(s.name, s.name_len, "debug_", 6) || memmem(s.name, s.name_len, "tab", 3))
			places[n++] = s.bytes;
	}
	return n ? places[roll(n)] : file;
}

static uint64_t odd_number(void)
{
	static const uint64_t all[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff,
		0x80000000, 0xfffffff0, 0xffffffff, 0x7fffffffffffffff, UINT64_MAX};

	return all[roll(ARRAY_SIZE(all))];
}

static void change(uint8_t *file, struct span whole)
{
	struct span where = pick_place(whole);
	uint8_t *p = file + (where.p - whole.p);
	size_t at = roll(where.n), room = where.n - at, n = 1 + roll(1 + roll(64));
	size_t width = (size_t)1 << roll(4);
	uint64_t v = odd_number();

	if (!where.n)
		return;
	n = MIN(n, room);
	switch (roll(6)) {
	case 0:
		p[at] = (uint8_t)roll(256);
		break;
	case 1:
		p[at] ^= (uint8_t)(1u << roll(8));
		break;
	case 2: /* a number of some size, maybe of the wrong byte order */
		memcpy(p + at, &v, MIN(room, width));
		break;
	case 3:
		memset(p + at, (int)odd_number(), n);
		break;
	case 4:
		memmove(p + at, p + roll(where.n - n + 1), n);
		break;
	default:
		for (size_t i = 0; i < n; i++)
			p[at + i] = (uint8_t)roll(256);
	}
}

/* The bytes of a file with some changes, and their number: it may have been cut. */
static uint8_t *mutate(struct span file, size_t *n)
{
	uint8_t *copy = malloc(file.n + 1);

	if (!copy)
		abort();
	memcpy(copy, file.p, file.n);
	*n = roll(20) ? file.n : roll(file.n + 1);
	for (uint64_t i = 1 + roll(1 + roll(40)); i--;)
		change(copy, (struct span){copy, *n});
	return copy;
}

/* ---- what came of it ------------------------------------------------------------------- */

static struct end {
	char text[96];
	unsigned n;
} ends[ENDS_MOST];

/* Without numbers and names, so that there are few. */
static void count(const char *text)
{
	char short_text[sizeof(ends[0].text)];
	size_t n = 0, i = 0;

	for (; *text && n + 1 < sizeof(short_text); text++)
		if (*text < '0' || *text > '9')
			short_text[n++] = *text;
	short_text[n] = '\0';
	while (i < ENDS_MOST - 1 && ends[i].n && strcmp(ends[i].text, short_text) != 0)
		i++;
	if (!ends[i].n)
		memcpy(ends[i].text, short_text, n + 1);
	ends[i].n++;
}

static bool is_whole(int fd)
{
	struct span bytes;
	struct err e = {0};
	struct gsym g;
	bool whole;

	if (map_fd(&bytes, fd, &e) < 0)
		return false;
	whole = gsym_open(&g, bytes, &e) == 0 && gsym_check(&g, &e) == 0;
	if (!whole)
		printf("what was made %s\n", e.text);
	map_release(&bytes);
	return whole;
}

/* Converts it; whether all is as it must be. */
static bool try(const char *convert, const uint8_t *p, size_t n)
{
	struct gsym_work o = {.program = convert, .seconds = LIMIT, .threads = (unsigned)(1 + roll(2)),
		.memory = 4ull << 30, .alt = {.fd = -1}, .package = {.fd = -1}};
	int in = memfd_create("mutated", MFD_CLOEXEC), out = -1, r;
	uint64_t began = clock_ms(), took;
	struct err e = {0};
	bool fine = true;

	for (size_t at = 0; at < n;) {
		ssize_t w = write(in, p + at, n - at);

		if (w <= 0)
			abort();
		at += (size_t)w;
	}
	r = gsym_work(&o, in, &out, &e);
	took = clock_ms() - began;
	close(in);
	if (r == 0) {
		fine = is_whole(out);
		close(out);
	} else {
		fine = !strstr(e.text, "by signal") && !strstr(e.text, "with status") && e.text[0];
	}
	count(r == 0 ? "made" : e.text);
	if (took > (LIMIT + SLACK) * 1000)
		fine = false;
	if (!fine)
		printf("after %llu ms: %d %s\n", (unsigned long long)took, r, e.text);
	return fine;
}

static void keep(unsigned number, const uint8_t *p, size_t n)
{
	char name[32];
	FILE *f;

	snprintf(name, sizeof(name), "mutated-%u", number);
	f = fopen(name, "w");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
		printf("cannot keep %s\n", name);
	else
		printf("kept as %s\n", name);
}

int main(int argc, char **argv)
{
	uint64_t end = clock_ms() + (argc > 4 ? strtoull(argv[3], NULL, 10) : 0) * 1000;
	unsigned most = argc > 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0, tried = 0, bad = 0;
	struct span files[64];
	int n_files = argc - 5;
	struct err e = {0};

	if (n_files < 1 || n_files > (int)ARRAY_SIZE(files)) {
		fprintf(stderr, "gsym-mutate: CONVERT COUNT SECONDS SEED FILE...\n");
		return 2;
	}
	state = strtoull(argv[4], NULL, 10);
	for (int i = 0; i < n_files; i++)
		if (map_file(&files[i], argv[5 + i], &e) < 0) {
			fprintf(stderr, "gsym-mutate: %s: %s\n", argv[5 + i], e.text);
			return 2;
		}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; most ? tried < most : clock_ms() < end; tried++) {
		size_t n;
		uint8_t *p = mutate(files[roll((uint64_t)n_files)], &n);

		if (!try(argv[1], p, n)) {
			keep(tried, p, n);
			bad++;
		}
		free(p);
	}
	for (unsigned i = 0; i < ENDS_MOST && ends[i].n; i++)
		printf("%7u  %s\n", ends[i].n, ends[i].text);
	printf("%u files, %u findings\n", tried, bad);
	for (int i = 0; i < n_files; i++)
		map_release(&files[i]);
	return bad || !tried;
}

/* Times reads of the same file in several places, for benchmarks.
 *
 *	reads make FILE MIB	makes FILE of that size; from 64 KiB on, each word is its own offset
 *	reads check FILE...	checks all these words
 *	reads pages FILE NUMBER...	checks these pages of the file, which is opened once
 *	reads MEASURE ROUNDS NAME=PATH...
 *
 * Each round of a measure goes through all places, beginning with another one each time. It checks
 * the bytes that it reads; a wrong byte ends it without a number. It prints for each place `value
 * NAME MEDIAN` and for each two places `ratio NAME OTHER MEDIAN`. A ratio is the median over the
 * rounds of the value of NAME divided by that of OTHER in the same round, so other load on the
 * machine affects both alike.
 *
 *	seq	open, read all in pieces of 1 MiB, close; MB/s
 *	random	map anew, a word of each page, in random order; pages/s
 *	orc	open, read 4 KiB, close; times/s
 *	stat	stat of the path; times/s
 *	absent	stat of 64 paths PATH/NAME that do not exist; times/s
 *
 * Before `seq` and `random` begin, the whole file is read. Each round reads into other memory:
 * otherwise the place of its pages in memory could favour one of two places for good. Before
 * `seq-first` and `random-first` begin, the kernel has no page of the file in a FUSE mount, and
 * all pages of the file behind it: each PATH outside of FUSE mounts was read before. Before
 * `seq-cold` and `random-cold` begin, no page is in memory at all (drop_caches). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define HEAD (64u << 10)
#define PIECE (1u << 20)
#define PAGE 4096u
#define PLACES 8
#define ROUNDS 101
#define FUSE_MAGIC 0x65735546
/* One page of so many, where each costs a request and the kernel reads what lies around, too. */
#define SPARSE 128u

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "reads: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Steele, Lea and Flood's SplitMix64: the same words each time. */
static uint64_t mix(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

static uint64_t word_at(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static char *piece(void)
{
	static char *p;

	if (!p && posix_memalign((void **)&p, PAGE, PIECE) != 0)
		die("out of memory");
	return p;
}

/* ---- the file ----------------------------------------------------------------------- */

static int open_sized(const char *path, int flags, uint64_t *size)
{
	int fd = open(path, flags | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		die("%s: %m", path);
	*size = (uint64_t)st.st_size;
	return fd;
}

static void make(const char *path, uint64_t mib)
{
	uint64_t size, off;
	char *p = piece();
	int fd = open_sized(path, O_WRONLY, &size);

	if (size > HEAD || mib < 1)
		die("%s: more than 64 KiB", path);
	if (ftruncate(fd, HEAD) < 0 || lseek(fd, HEAD, SEEK_SET) < 0)
		die("%s: %m", path);
	for (off = HEAD; off < mib << 20; off += PIECE) {
		size_t n = (mib << 20) - off < PIECE ? (size_t)((mib << 20) - off) : PIECE;

		for (size_t i = 0; i < n; i += 8)
			memcpy(p + i, &(uint64_t){mix(off + i)}, 8);
		if (write(fd, p, n) != (ssize_t)n)
			die("%s: %m", path);
	}
	if (fsync(fd) < 0 || close(fd) < 0)
		die("%s: %m", path);
}

/* A word of every `step` bytes. */
static void look(const char *path, const char *p, size_t n, uint64_t off, size_t step)
{
	for (size_t i = off < HEAD ? HEAD - (size_t)off : 0; i + 8 <= n; i += step)
		if (word_at(p + i) != mix(off + i))
			die("%s: wrong bytes at %llu", path, (unsigned long long)(off + i));
}

static uint64_t read_all(const char *path, size_t step)
{
	uint64_t size, off = 0;
	int fd = open_sized(path, O_RDONLY, &size);
	ssize_t n;

	while ((n = read(fd, piece(), PIECE)) > 0) {
		look(path, piece(), (size_t)n, off, step);
		off += (uint64_t)n;
	}
	if (n < 0 || off != size || size <= HEAD)
		die("%s: %llu bytes of %llu", path, (unsigned long long)off, (unsigned long long)size);
	close(fd);
	return size;
}

static void read_pages(const char *path, char **numbers, unsigned n)
{
	uint64_t size;
	int fd = open_sized(path, O_RDONLY, &size);

	for (unsigned i = 0; i < n; i++) {
		uint64_t off = strtoull(numbers[i], NULL, 10) * PAGE;

		if (off < HEAD || pread(fd, piece(), PAGE, (off_t)off) != PAGE)
			die("%s: no page %s", path, numbers[i]);
		look(path, piece(), PAGE, off, 8);
	}
	close(fd);
}

/* ---- measures ----------------------------------------------------------------------- */

enum before { WARM, READ, FIRST, COLD };

struct place {
	const char *name, *path;
	bool fuse;
	double had[ROUNDS];
};

static double measure_seq(const char *path, enum before before, unsigned round)
{
	double from = now();

	return (double)read_all(path, PAGE) / 1e6 / (now() - from);
}

/* As many as there are pages when they are in memory, fewer else. */
static double measure_random(const char *path, enum before before, unsigned round)
{
	uint64_t size, pages, most;
	int fd = open_sized(path, O_RDONLY, &size);
	const char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	double from = now();

	if (p == MAP_FAILED)
		die("%s: %m", path);
	pages = (size - HEAD) / PAGE;
	most = before == COLD || before == FIRST ? pages / SPARSE : pages;
	for (uint64_t i = 0; i < most; i++) {
		uint64_t off = HEAD + mix(i + round * pages) % pages * PAGE;

		if (word_at(p + off) != mix(off))
			die("%s: wrong bytes at %llu", path, (unsigned long long)off);
	}
	from = now() - from;
	munmap((void *)p, size);
	close(fd);
	return (double)most / from;
}

static double measure_orc(const char *path, enum before before, unsigned round)
{
	unsigned times = 20000;
	double from = now();

	for (unsigned i = 0; i < times; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || pread(fd, piece(), PAGE, HEAD) != PAGE || word_at(piece()) != mix(HEAD))
			die("%s: wrong bytes", path);
		close(fd);
	}
	return times / (now() - from);
}

static double measure_stat(const char *path, enum before before, unsigned round)
{
	unsigned times = 200000;
	double from = now();
	struct stat st;

	for (unsigned i = 0; i < times; i++)
		if (stat(path, &st) < 0 || st.st_size <= HEAD)
			die("%s: no stat", path);
	return times / (now() - from);
}

static double measure_absent(const char *path, enum before before, unsigned round)
{
	unsigned times = 400000;
	char names[64][512];
	struct stat st;
	double from;

	for (unsigned i = 0; i < 64; i++)
		snprintf(names[i], sizeof(names[i]), "%s/%032x%06x.debug", path, i, i);
	for (unsigned i = 0; i < 64; i++)
		stat(names[i], &st);
	from = now();
	for (unsigned i = 0; i < times; i++)
		if (stat(names[i % 64], &st) == 0)
			die("%s is there", names[i % 64]);
	return times / (now() - from);
}

static const struct measure {
	const char *name;
	double (*run)(const char *path, enum before before, unsigned round);
	enum before before;
} measures[] = {
	{"seq", measure_seq, READ},	   {"seq-first", measure_seq, FIRST},
	{"seq-cold", measure_seq, COLD},   {"random", measure_random, READ},
	{"random-first", measure_random, FIRST}, {"random-cold", measure_random, COLD},
	{"orc", measure_orc, WARM},	   {"stat", measure_stat, WARM},
	{"absent", measure_absent, WARM},
};

/* ---- rounds ------------------------------------------------------------------------- */

static void drop_all(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (fd < 0 || write(fd, "1", 1) != 1)
		die("drop_caches: %m");
	close(fd);
}

static void prepare(const struct measure *m, const struct place *all, unsigned n, const struct place *p)
{
	uint64_t size;
	int fd;

	if (m->before == COLD)
		drop_all();
	if (m->before != FIRST && m->before != READ)
		return;
	fd = open_sized(p->path, O_RDONLY, &size);
	if (p->fuse || m->before == READ)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	for (unsigned i = 0; i < n && m->before == FIRST; i++)
		if (!all[i].fuse)
			read_all(all[i].path, PAGE);
	if (m->before == READ)
		read_all(p->path, PAGE);
}

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *had, const double *by, unsigned rounds)
{
	double v[ROUNDS];

	for (unsigned i = 0; i < rounds; i++)
		v[i] = by ? had[i] / by[i] : had[i];
	qsort(v, rounds, sizeof(v[0]), less);
	return rounds % 2 ? v[rounds / 2] : (v[rounds / 2 - 1] + v[rounds / 2]) / 2;
}

static void print(const struct place *p, unsigned n, unsigned rounds)
{
	for (unsigned i = 0; i < n; i++)
		printf("value %s %.0f\n", p[i].name, median(p[i].had, NULL, rounds));
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			if (i != k)
				printf("ratio %s %s %.2f\n", p[i].name, p[k].name,
					median(p[i].had, p[k].had, rounds));
}

static void measure(const struct measure *m, unsigned rounds, char **words, unsigned n)
{
	struct place all[PLACES] = {0};

	for (unsigned i = 0; i < n; i++) {
		char *equals = strchr(words[i], '=');
		struct statfs st;

		if (!equals || statfs(equals + 1, &st) < 0)
			die("%s: %m", words[i]);
		*equals = '\0';
		all[i] = (struct place){.name = words[i], .path = equals + 1, .fuse = st.f_type == FUSE_MAGIC};
	}
	/* Once before, not timed: all that is remembered is remembered then. */
	for (unsigned i = 0; i < n && m->before != COLD; i++)
		m->run(all[i].path, m->before, 0);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < n; i++) {
			struct place *p = &all[(i + round) % n];

			prepare(m, all, n, p);
			p->had[round] = m->run(p->path, m->before, round);
		}
	}
	print(all, n, rounds);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "make") == 0) {
		make(argv[2], strtoull(argv[3], NULL, 10));
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "check") == 0) {
		for (int i = 2; i < argc; i++)
			read_all(argv[i], 8);
		return 0;
	}
	if (argc > 3 && strcmp(argv[1], "pages") == 0) {
		read_pages(argv[2], argv + 3, (unsigned)argc - 3);
		return 0;
	}
	for (size_t i = 0; argc > 3 && argc <= 3 + PLACES && i < sizeof(measures) / sizeof(measures[0]); i++) {
		unsigned rounds = (unsigned)atoi(argv[2]);

		if (strcmp(argv[1], measures[i].name) == 0 && rounds > 0 && rounds <= ROUNDS) {
			measure(&measures[i], rounds, argv + 3, (unsigned)argc - 3);
			return 0;
		}
	}
	fprintf(stderr, "usage: reads MEASURE ROUNDS NAME=PATH...\n");
	return 2;
}

/* Reads virtual files (virtual.h) through a mount in many threads. It checks each byte, each
 * reported size, and how long each answer took.
 *
 *	read-virtual --dir DIR [options]
 *	  --dir DIR      where v0.so/… are: MNT/breakpad
 *	  --alive PATH   a file that exists as long as the mount: MNT/.symfs/version
 *	  --mean N       as the server's --virtual (1000000)
 *	  --files N      numbers from 0 to N-1 (100)
 *	  --threads N    at once (16)
 *	  --bytes N      ends when this many bytes were read ...
 *	  --seconds N    ... or after this time
 *	  --most-ms N    the longest time that an answer may take (15000)
 *	  --whole        reads every file from beginning to end; otherwise also parts
 *	  --seed N
 *
 * The last line: files N bytes N wrong N late N slowest N ms false-misses N errors N (ERRNO N)...
 * Exit status 1 if anything was wrong, late, or missing while the mount existed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM (128 << 10)

static struct options {
	const char *dir, *alive;
	uint64_t mean, bytes, seconds, most_ms, seed;
	unsigned files, threads;
	bool whole;
} o = {.mean = 1000000, .most_ms = 15000, .files = 100, .threads = 16, .seed = 1};

static atomic_uint_fast64_t files, bytes, wrong, late, slowest, misses, errors[200];
static atomic_bool over;
static uint64_t began;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool enough(void)
{
	return over || (o.bytes && bytes >= o.bytes) ||
	       (o.seconds && now_ms() - began >= o.seconds * 1000);
}

/* An answer that began at `from` is here. */
static void took(uint64_t from, const char *what, const char *path)
{
	uint64_t ms = now_ms() - from, most = slowest;

	while (ms > most && !atomic_compare_exchange_weak(&slowest, &most, ms))
		;
	if (ms <= o.most_ms)
		return;
	late++;
	printf("late: %s %s took %llu ms\n", what, path, (unsigned long long)ms);
}

static void is_wrong(const char *path, const char *what, uint64_t at)
{
	wrong++;
	printf("WRONG: %s: %s at %llu\n", path, what, (unsigned long long)at);
}

/* A mount that is being replaced has no files at all: only one that stands may not say so. */
static void failed(const char *path, int error)
{
	static const struct timespec breath = {.tv_nsec = 10000000};

	errors[error < 200 ? error : 0]++;
	nanosleep(&breath, NULL); /* a mount that is gone answers at once, again and again */
	if (error != ENOENT || !o.alive || access(o.alive, F_OK) < 0)
		return;
	if (access(path, F_OK) < 0 && errno == ENOENT && access(o.alive, F_OK) == 0) {
		misses++;
		printf("MISSING: %s, and the mount is there\n", path);
	}
}

/* How much was read, 0 at the end or after an error. */
static size_t read_part(int fd, const char *path, unsigned n, uint64_t off, size_t len, char *room)
{
	static _Thread_local char want[ROOM];
	uint64_t from = now_ms();
	ssize_t r = pread(fd, room, len, (off_t)off);
	int error = errno;

	took(from, "read", path);
	if (r < 0) {
		failed(path, error);
		return 0;
	}
	virtual_bytes(n, off, want, (size_t)r);
	if (memcmp(room, want, (size_t)r) != 0)
		is_wrong(path, "other bytes", off);
	bytes += (uint64_t)r;
	return (size_t)r;
}

static void read_all(int fd, const char *path, unsigned n, uint64_t size, char *room)
{
	uint64_t off = 0;
	size_t r;

	while (!over && (r = read_part(fd, path, n, off, ROOM, room)) > 0)
		off += r;
	if (off > size)
		is_wrong(path, "more bytes than its size", off);
}

static void read_parts(int fd, const char *path, unsigned n, uint64_t size, char *room,
	struct drand48_data *dice)
{
	for (unsigned i = 0; i < 32 && !over; i++) {
		long at, len;

		lrand48_r(dice, &at);
		lrand48_r(dice, &len);
		if (!read_part(fd, path, n, (uint64_t)at % size, (size_t)len % ROOM + 1, room))
			return;
	}
}

static void read_file(unsigned n, char *room, struct drand48_data *dice)
{
	uint64_t size = virtual_size(n, o.mean), from = now_ms();
	char path[4096], name[128];
	struct stat st;
	long way;
	int fd;

	virtual_path(n, name);
	snprintf(path, sizeof(path), "%s/%s", o.dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	took(from, "open", path);
	if (fd < 0) {
		failed(path, errno);
		return;
	}
	files++;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size != size)
		is_wrong(path, "another size", (uint64_t)st.st_size);
	lrand48_r(dice, &way);
	if (o.whole || way % 3 == 0)
		read_all(fd, path, n, size, room);
	else
		read_parts(fd, path, n, size, room, dice);
	close(fd);
}

static void *reader(void *ctx)
{
	struct drand48_data dice;
	char *room = malloc(ROOM);

	srand48_r((long)(o.seed * 1000 + (uintptr_t)ctx), &dice);
	while (room && !enough()) {
		long n;

		lrand48_r(&dice, &n);
		read_file((unsigned)n % o.files, room, &dice);
	}
	free(room);
	return NULL;
}

static bool options_read(int argc, char **argv)
{
	static const struct option list[] = {{"dir", 1, NULL, 'd'}, {"alive", 1, NULL, 'a'},
		{"mean", 1, NULL, 'm'}, {"files", 1, NULL, 'f'}, {"threads", 1, NULL, 't'},
		{"bytes", 1, NULL, 'b'}, {"seconds", 1, NULL, 's'}, {"most-ms", 1, NULL, 'l'},
		{"whole", 0, NULL, 'w'}, {"seed", 1, NULL, 'r'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0)
		switch (c) {
		case 'd': o.dir = optarg; break;
		case 'a': o.alive = optarg; break;
		case 'm': o.mean = strtoull(optarg, NULL, 10); break;
		case 'f': o.files = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': o.threads = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'b': o.bytes = strtoull(optarg, NULL, 10); break;
		case 's': o.seconds = strtoull(optarg, NULL, 10); break;
		case 'l': o.most_ms = strtoull(optarg, NULL, 10); break;
		case 'w': o.whole = true; break;
		case 'r': o.seed = strtoull(optarg, NULL, 10); break;
		default: return false;
		}
	return o.dir && o.files && o.threads && o.threads <= 256 && (o.bytes || o.seconds);
}

static void stop(int signal)
{
	over = true;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	unsigned long long failures = 0;

	if (!options_read(argc, argv)) {
		fprintf(stderr, "read-virtual: --dir DIR and --bytes N or --seconds N; see its source\n");
		return 2;
	}
	signal(SIGTERM, stop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	began = now_ms();
	for (unsigned i = 0; i < o.threads; i++)
		pthread_create(&threads[i], NULL, reader, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < o.threads; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 200; i++)
		failures += errors[i];
	printf("files %llu bytes %llu wrong %llu late %llu slowest %llu ms false-misses %llu errors %llu",
		(unsigned long long)files, (unsigned long long)bytes, (unsigned long long)wrong,
		(unsigned long long)late, (unsigned long long)slowest, (unsigned long long)misses,
		failures);
	for (int i = 0; i < 200; i++)
		if (errors[i])
			printf(" (%s %llu)", strerrorname_np(i), (unsigned long long)errors[i]);
	printf("\n");
	return wrong || late || misses;
}

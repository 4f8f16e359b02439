/* Tests the scan of archives that were changed at random: no archive ends the worker by a signal, every answer is
 * sound, and the next archive is read as ever. SYMFS_SCAN_SECONDS=600 does that for ten minutes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "scratch.h"
#include "source/scan/private.h"

#include <sys/mman.h>

#define ROUNDS 3 /* of each kind, unless a time is set */

static const char *built(const char *name)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	return path;
}

/* ---- random changes -------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t roll(uint64_t most)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return most ? (state >> 20) % most : 0;
}

/* Changes up to eight places, often at the front or the end: there archives have their directories. */
static void change(uint8_t *p, size_t n)
{
	for (uint64_t i = 1 + roll(8); i--;) {
		size_t near = MIN(n, (size_t)600), len = roll(16), from = roll(n);
		size_t at = roll(3) == 0 ? roll(near) : roll(3) == 0 ? n - 1 - roll(near) : roll(n);

		switch (roll(4)) {
		case 0:
			p[at] = (uint8_t)roll(256);
			break;
		case 1:
			p[at] ^= (uint8_t)(1u << roll(8));
			break;
		case 2:
			memmove(p + at, p + from, MIN(n - MAX(at, from), len));
			break;
		default:
			memset(p + at, roll(2) ? 0xff : 0, MIN(n - at, len));
		}
	}
}

/* ---- archives -------------------------------------------------------------------------------- */

/* An archive by a helper, and whether changes can be seen behind its packing. */
static const struct {
	const char *helper, *words;
} kinds[] = {
	{"archive-write", "tar none"}, {"archive-write", "pax none"}, {"archive-write", "tar gz"},
	{"archive-write", "tar xz"}, {"archive-write", "tar zst"}, {"archive-write", "tar bz2"},
	{"archive-write", "7z none"}, {"archive-write", "deb none"}, {"archive-write", "deb xz"},
	{"archive-write", "rpm none"}, {"archive-write", "rpm zst"}, {"zip-write", ""}};

static char *make(unsigned kind, size_t *n)
{
	char command[16384], program[4096], *p;

	snprintf(program, sizeof(program), "%s", built("tests/helpers/zip-write"));
	unlink(in_scratch("archive"));
	snprintf(command, sizeof(command), "cd '%s' && '%s/tests/helpers/%s' archive %s words words a.sym 1 bin/x "
		"'%s' b.sym 2", scratch, getenv("top_builddir"), kinds[kind].helper, kinds[kind].words, program);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("archive"), 64 << 20, &p, n), 0);
	return p;
}

static void put(const char *rel, unsigned n, unsigned more)
{
	size_t room = 200 + more;
	char *text = malloc(room);
	int len = snprintf(text, room, "MODULE Linux x86_64 %08X00112233445566778899AABB0 mod%u\n", n, n);

	for (unsigned i = 0; i < more; i++)
		text[len + (int)i] = i % 40 == 39 ? '\n' : 'x';
	write_file(in_scratch(rel), text, (size_t)len + more);
	free(text);
}

/* Checks the text of an archive's keys: each line is a member or a key. */
static unsigned check_keys(const char *p, uint32_t members)
{
	uint32_t seen = 0;
	unsigned keys = 0;

	for (; p && *p; p += strcspn(p, "\n") + 1) {
		struct worth w;
		struct key k;

		ck_assert_ptr_nonnull(strchr(p, '\n'));
		if (!seen && !keys && *p == 'n') { /* names of other members */
			ck_assert_uint_eq((strcspn(p, "\n") - 1) % NAME_DIGITS, 0);
			continue;
		}
		seen += *p == '\t';
		if (*p == '\t')
			continue;
		ck_assert_uint_gt(seen, 0);
		ck_assert_int_eq(known_key(p, strcspn(p, "\n"), &k, &w), 0);
		keys++;
	}
	ck_assert_uint_eq(seen, members);
	return keys;
}

static unsigned scan_one(struct scan *s, const void *p, size_t n, enum scan_kind *kind)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint32_t members = 0;
	char *keys = NULL;
	unsigned found;

	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
	ck_assert_int_eq(archive_keys(s, fd, n, "an archive", &keys, &members, kind), 0);
	found = check_keys(keys, members);
	free(keys);
	close(fd);
	return found;
}

START_TEST(changed_archives)
{
	const char *seed = getenv("SYMFS_TEST_SEED"), *seconds = getenv("SYMFS_SCAN_SECONDS");
	uint64_t began = clock_ms(), most = seconds ? strtoull(seconds, NULL, 10) * 1000 : 0;
	struct scan s = {.worker = strdup(built("libexec/unarchive")), .archives = true};
	struct { char *p; size_t n; } made[ARRAY_SIZE(kinds)];
	unsigned tried = 0, found = 0, faulty = 0;
	char *log;
	int fd;

	state = seed ? strtoull(seed, NULL, 10) : 1;
	scratch_dir();
	write_file(in_scratch("words"), "some words\n", 11);
	put("1", 1, 0);
	put("2", 2, 200000);
	fd = open(in_scratch("log"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	log_to_file(fd);
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		made[i].p = make(i, &made[i].n);
	do {
		for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
			enum scan_kind kind;
			const char *p = made[i].p;
			size_t n = made[i].n;

			/* Unchanged it has all: two Breakpad files and a program. */
			ck_assert_uint_ge(scan_one(&s, p, n, &kind), 3);
			ck_assert_int_eq(kind, SCAN_ARCHIVE);
			for (unsigned j = 0; j < ROUNDS; j++, tried++) {
				size_t size = roll(8) ? n : 1 + (size_t)roll(n - 1);
				char *copy = malloc(size);

				memcpy(copy, p, size);
				change((uint8_t *)copy, size);
				found += scan_one(&s, copy, size, &kind);
				faulty += kind == SCAN_ARCHIVE_FAULTY;
				free(copy);
			}
		}
	} while (clock_ms() - began < most);
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("log"), 256 << 20, &log, NULL), 0);
	ck_assert_msg(!strstr(log, "ended by signal") && !strstr(log, "ended with status") &&
		!strstr(log, "unexpected") && !strstr(log, "no progress"), "seed %s: %s", seed ? seed : "1", log);
	printf("# %u changed archives, %u of them faulty, %u keys found\n", tried, faulty, found);
	ck_assert_uint_gt(found, 0);
	ck_assert_uint_gt(faulty, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		free(made[i].p);
	free(log);
	free(s.worker);
	scratch_end();
}
END_TEST

UNIT_MAIN("scan-changed", changed_archives)

/* Tests GSYM of a few addresses of a Breakpad file, on random files: FUNCs that overlap, lines and inlined calls that
 * reach beyond their FUNC, PUBLICs between them, and bad lines; and on the shared files. The answers equal those of
 * the whole file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "asked.h"
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 1500
#define ADDRESSES 12

static uint64_t state;

static uint32_t roll(uint32_t most)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return most ? (uint32_t)(state >> 33) % most : 0;
}

static void add_func(struct buf *b, unsigned wild)
{
	uint32_t start = roll(100) < wild ? roll(0x1000) : 0x40 * roll(64),
		size = roll(100) < wild ? roll(0x200) : 0x40;

	if (roll(50) == 0)
		start = 0xffffff00 + roll(0x100);
	buf_addf(b, "FUNC %s%x %x 0 f%u(%u)\n", roll(4) ? "" : "m ", start, size, roll(9), roll(9));
	for (unsigned i = roll(4); i; i--)
		buf_addf(b, "INLINE %u %u %u %u %x %x\n", roll(3), roll(50), roll(4), roll(4), start + roll(size + 1),
			roll(100) < wild ? roll(0x200) : roll(0x20));
	for (unsigned i = roll(6), at = start; i; i--) {
		uint32_t n = roll(100) < wild ? roll(0x300) : 1 + roll(0x10);

		buf_addf(b, "%x %x %u %u\n", at, n, roll(90), roll(5));
		at += roll(100) < wild ? roll(0x40) : n;
	}
	if (roll(2))
		buf_addf(b, "PUBLIC %x 0 p%u\n", roll(100) < wild ? roll(0x1400) : start + size + roll(0x20),
			roll(5));
	if (roll(500) == 0)
		buf_adds(b, "FUNC zz\n");
}

static void make_file(struct buf *b)
{
	unsigned wild = roll(2) ? 0 : roll(60);

	buf_clear(b);
	buf_addf(b, "MODULE Linux x86_64 11111111111111111111111111111111A m.so\n");
	if (roll(3) == 0)
		buf_adds(b, "INFO CODE_ID ABCD prog.so\n");
	buf_adds(b, "FILE 0 /a/../b.c\nFILE 1 x.h\nFILE 2 c:\\w.c\nINLINE_ORIGIN 0 in0\nINLINE_ORIGIN 1 in1\n");
	for (unsigned i = roll(12); i; i--)
		add_func(b, wild);
	if (roll(4) == 0 && b->n)
		b->n--; /* without the last newline */
	b->p[b->n] = '\0';
}

static int compare_addresses(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Compares a part with the whole at these addresses. Returns the number of addresses that have a function; -1: the
 * file is refused. */
static int compare(const char *text, size_t size, const uint32_t *addrs, size_t n)
{
	struct buf whole = BUF_UP_TO(256 << 20), part = BUF_UP_TO(256 << 20), x = BUF_UP_TO(1 << 20),
		y = BUF_UP_TO(1 << 20);
	struct gsym g, p;
	int r = asked_make(text, size, NULL, 0, &whole, &g), found = 0;

	ck_assert_int_eq(asked_make(text, size, addrs, n, &part, &p), r);
	for (size_t k = 0; r == 0 && k < n; k++) {
		found += strcmp(asked_text(&g, addrs[k], &x), "-") != 0;
		ck_assert_msg(strcmp(buf_text(&x), asked_text(&p, addrs[k], &y)) == 0,
			"at %x:\n%s\nfrom a part:\n%s\n%.4000s", addrs[k], buf_text(&x), buf_text(&y), text);
	}
	/* A file without functions has a function with an empty name there (eliot_finish()). */
	if (r == 0 && strcmp(asked_text(&p, ELIOT_NAME_AT, &y), "||0|0\n") != 0)
		ck_assert_str_eq(asked_text(&g, ELIOT_NAME_AT, &x), buf_text(&y));
	buf_release(&whole);
	buf_release(&part);
	buf_release(&x);
	buf_release(&y);
	return r < 0 ? -1 : found;
}

START_TEST(random_files)
{
	struct buf text = BUF_UP_TO(1 << 20);
	unsigned found = 0, refused = 0;

	for (unsigned i = 0; i < FILES; i++) {
		uint32_t addrs[ADDRESSES];
		size_t n;
		int r;

		state = i + (uint64_t)unit_seed(0) * FILES;
		make_file(&text);
		n = 1 + roll(ADDRESSES);
		for (size_t k = 0; k < n; k++)
			addrs[k] = roll(40) == 0 ? UINT32_MAX - roll(3) : roll(3) ? roll(0x1400)
				: 0x40 * roll(70) - roll(2);
		qsort(addrs, n, sizeof(*addrs), compare_addresses);
		r = compare(text.p, text.n, addrs, n);
		refused += r < 0;
		found += r < 0 ? 0 : (unsigned)r;
	}
	ck_assert_uint_gt(found, FILES);
	ck_assert_uint_gt(refused, 0);
	buf_release(&text);
}
END_TEST

/* The shared files, at addresses from their own lines and beside them. */
static unsigned shared_seen;

static int shared_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	static uint32_t addrs[300];
	struct err e = {0};
	struct span file;
	size_t n = 0, len = strlen(path);

	if (type != FTW_F || len < 4 || strcmp(path + len - 4, ".sym") != 0 || !st->st_size || st->st_size > 64 << 20)
		return 0;
	ck_assert_int_eq(map_file(&file, path, &e), 0);
	state = len;
	for (size_t at = 0; n < ARRAY_SIZE(addrs) && at < file.n;
		at += 1 + roll((uint32_t)MIN(file.n / 200 + 1, 1u << 30))) {
		const uint8_t *line = memchr(file.p + at, '\n', file.n - at);
		char word[17] = "";

		for (unsigned k = 0; line && k < 16 && line + 1 + k < file.p + file.n && line[1 + k] > ' '; k++)
			word[k] = (char)line[1 + k];
		addrs[n++] = (uint32_t)strtoul(word, NULL, 16) + roll(3) - 1;
	}
	qsort(addrs, n, sizeof(*addrs), compare_addresses);
	compare((const char *)file.p, file.n, addrs, n);
	map_release(&file);
	shared_seen++;
	return 0;
}

START_TEST(shared_files)
{
	const char *top = getenv("top_srcdir") ? getenv("top_srcdir") : ".";
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/../shared/fixtures/sym", top);
	if (access(dir, R_OK) < 0) {
		unit_part_skipped("no ../shared/fixtures/sym: Breakpad files of other programs");
		return;
	}
	ck_assert_int_eq(nftw(dir, shared_file, 16, FTW_PHYS), 0);
	ck_assert_uint_gt(shared_seen, 10);
}
END_TEST

UNIT_MAIN("breakpad-asked", random_files, shared_files)

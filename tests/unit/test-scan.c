/* Tests a scanned tree as a source: files in it are found, also those added later; removed files
 * are not. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "scan/private.h"
#include "scratch.h"

#include <sys/prctl.h>

#define MOST_MS 60000 /* a test that waits longer has failed */

static struct scan *scan;

/* A Breakpad file is the simplest one with an identity: of module number n, and m more bytes. */
static void put(const char *rel, unsigned n, unsigned m)
{
	char text[400];
	int len = snprintf(text, sizeof(text),
		"MODULE Linux x86_64 %08X00112233445566778899AABB0 mod%u\n", n, n);

	ck_assert_int_lt(len + (int)m, (int)sizeof(text));
	memset(text + len, '\n', m);
	unlink(in_scratch(rel));
	write_file(in_scratch(rel), text, (size_t)len + m);
}

static void make_dir(const char *rel)
{
	ck_assert_int_eq(mkdir(in_scratch(rel), 0700), 0);
}

static struct key key_n(unsigned n)
{
	struct key k = {.type = FILETYPE_BREAKPAD};

	snprintf(k.id, sizeof(k.id), "%08X00112233445566778899AABB0", n);
	return k;
}

static void begin(const char *memory)
{
	struct err e = {0};

	ck_assert_msg(scan_start(&scan, in_scratch("tree"), memory, &e) == 0, "%s", e.text);
}

/* The nth path of a key, once the tree was walked; "": none. */
static const char *where(unsigned n, unsigned nth)
{
	static char room[512];
	struct buf path = BUF_UP_TO(sizeof(room) - 1);
	uint64_t began = clock_ms();
	struct key k = key_n(n);
	int r;

	while ((r = scan_find(scan, &k, nth, &path)) == -EAGAIN)
		ck_assert_uint_lt(clock_ms() - began, MOST_MS);
	ck_assert(r == 0 || r == -ENOENT);
	snprintf(room, sizeof(room), "%s", buf_text(&path));
	buf_release(&path);
	return room;
}

static void becomes(unsigned n, const char *path)
{
	uint64_t began = clock_ms();

	while (strcmp(where(n, 0), path) != 0)
		ck_assert_msg(clock_ms() - began < MOST_MS, "%u is at \"%s\", not \"%s\"", n,
			where(n, 0), path);
}

/* Whether a key comes to have a file. */
static void key_becomes(const struct key *k, const char *path)
{
	struct buf at = BUF_UP_TO(400);
	uint64_t began = clock_ms();

	do {
		ck_assert_uint_lt(clock_ms() - began, MOST_MS);
		buf_clear(&at);
	} while (scan_find(scan, k, 0, &at) < 0);
	ck_assert_str_eq(buf_text(&at), path);
	buf_release(&at);
}

static void start(void)
{
	scratch_dir();
	make_dir("tree");
}

static void end(void)
{
	scan_stop(scan);
	scan = NULL;
	scratch_end();
}

START_TEST(test_walk)
{
	start();
	make_dir("tree/a");
	make_dir("tree/a/b");
	make_dir("tree/.git");
	put("tree/one.sym", 1, 0);
	put("tree/a/b/two.sym", 2, 0);
	put("tree/.git/three.sym", 3, 0);
	write_file(in_scratch("tree/a/text"), "nothing", 7);
	ck_assert_int_eq(symlink("one.sym", in_scratch("tree/link.sym")), 0);
	ck_assert_int_eq(symlink(".", in_scratch("tree/a/loop")), 0);
	ck_assert_int_eq(mkfifo(in_scratch("tree/pipe"), 0600), 0);
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "one.sym");
	ck_assert_str_eq(where(1, 1), "");
	ck_assert_str_eq(where(2, 0), "a/b/two.sym");
	ck_assert_str_eq(where(3, 0), "");
	end();
}
END_TEST

START_TEST(test_largest_first)
{
	start();
	put("tree/small.sym", 1, 0);
	put("tree/large.sym", 1, 100);
	put("tree/middle.sym", 1, 50);
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "large.sym");
	ck_assert_str_eq(where(1, 1), "middle.sym");
	ck_assert_str_eq(where(1, 2), "small.sym");
	ck_assert_str_eq(where(1, 3), "");
	end();
}
END_TEST

START_TEST(test_follow)
{
	start();
	make_dir("tree/a");
	put("tree/a/one.sym", 1, 0);
	begin(NULL);
	becomes(1, "a/one.sym");
	put("tree/a/two.sym", 2, 0);
	becomes(2, "a/two.sym");
	ck_assert_int_eq(unlink(in_scratch("tree/a/one.sym")), 0);
	becomes(1, "");
	put("tree/a/two.sym", 3, 1); /* built anew */
	becomes(3, "a/two.sym");
	ck_assert_str_eq(where(2, 0), "");
	make_dir("tree/b");
	make_dir("tree/b/c");
	put("tree/b/c/four.sym", 4, 0);
	becomes(4, "b/c/four.sym");
	ck_assert_int_eq(rename(in_scratch("tree/b"), in_scratch("tree/d")), 0);
	becomes(4, "d/c/four.sym");
	put("tree/d/c/five.sym", 5, 0);
	becomes(5, "d/c/five.sym");
	/* Another directory under the name of one that is watched. */
	ck_assert_int_eq(rename(in_scratch("tree/d"), in_scratch("away")), 0);
	make_dir("tree/d");
	put("tree/d/six.sym", 6, 0);
	becomes(6, "d/six.sym");
	becomes(5, "");
	put("tree/d/seven.sym", 7, 0);
	becomes(7, "d/seven.sym");
	end();
}
END_TEST

START_TEST(test_root_later)
{
	char state[240];

	scratch_dir();
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "");
	scan_state(scan, state);
	ck_assert_str_eq(state, "No such file or directory");
	make_dir("tree");
	put("tree/one.sym", 1, 0);
	becomes(1, "one.sym");
	scan_state(scan, state);
	ck_assert_str_eq(state, "there, 1 artifacts in 1 files");
	end();
}
END_TEST

static int count_key(void *ctx, const struct key *k, uint64_t size)
{
	++*(unsigned *)ctx;
	return 0;
}

START_TEST(test_each)
{
	unsigned n = 0;

	start();
	for (unsigned i = 0; i < 300; i++) {
		char name[64];

		snprintf(name, sizeof(name), "tree/%u", i);
		make_dir(name);
		snprintf(name, sizeof(name), "tree/%u/x.sym", i);
		put(name, i, 0);
	}
	begin(NULL);
	for (unsigned some = 0; some < 300; some = n, n = 0) /* while it is walked */
		ck_assert_int_eq(scan_each(scan, SCAN_FILES, count_key, &n), 0);
	where(1, 0);
	ck_assert_int_eq(scan_each(scan, SCAN_FILES, count_key, &n), 0);
	ck_assert_uint_eq(n, 300);
	end();
}
END_TEST

/* The memory is believed where size, time and inode are the same: shown by one that lies. */
START_TEST(test_memory)
{
	char *memory = strdup((start(), in_scratch("memory"))), *text, *at;
	size_t n;

	make_dir("tree/a");
	put("tree/a/one.sym", 1, 0);
	put("tree/a/two.sym", 2, 0);
	begin(memory);
	ck_assert_str_eq(where(1, 0), "a/one.sym");
	ck_assert_str_eq(where(9, 0), ""); /* said when all was walked, and only then is it written down */
	scan_stop(scan);
	ck_assert_int_eq(path_read(AT_FDCWD, memory, 1 << 20, &text, &n), 0);
	at = strstr(text, "\tbreakpad 00000001");
	ck_assert_ptr_nonnull(at);
	at[strlen("\tbreakpad 0000000")] = '7';
	unlink(memory);
	write_file(memory, text, n);
	put("tree/a/two.sym", 3, 5);
	begin(memory);
	ck_assert_str_eq(where(7, 0), "a/one.sym");
	ck_assert_str_eq(where(1, 0), "");
	ck_assert_str_eq(where(3, 0), "a/two.sym");
	ck_assert_str_eq(where(2, 0), "");
	free(text);
	free(memory);
	end();
}
END_TEST

/* What is broken in it costs that, and no more. */
START_TEST(test_memory_broken)
{
	static const char *const texts[] = {"", "nonsense\n", "symfs scan 3\nf 1 2 3 x\n",
		"symfs scan 3\nd \nk none\tbreakpad 1\nf\nf x\nf 1 2\n", "symfs scan 3\nd \nf 1 2 3 \n",
		"symfs scan 3\nd \nf 1 2 3 a\nk \nk nonsense\nk none\tbreakpad zz\nk none\nk \t\nd \nd \nq\n",
		"symfs scan 1\nd \n", "symfs scan 3\nd \nf 99999999999999999999999 1 1 one.sym\n"};
	char *memory = strdup((start(), in_scratch("memory")));

	put("tree/one.sym", 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		unlink(memory);
		write_file(memory, texts[i], strlen(texts[i]));
		begin(memory);
		ck_assert_str_eq(where(1, 0), "one.sym");
		scan_stop(scan);
		scan = NULL;
	}
	free(memory);
	end();
}
END_TEST

/* What is mounted over, moved away, or made anew under its name. */
START_TEST(test_root_moved)
{
	start();
	put("tree/one.sym", 1, 0);
	begin(NULL);
	becomes(1, "one.sym");
	ck_assert_int_eq(rename(in_scratch("tree"), in_scratch("away")), 0);
	becomes(1, "");
	make_dir("tree");
	put("tree/two.sym", 2, 0);
	becomes(2, "two.sym");
	put("away/three.sym", 3, 0);
	put("tree/four.sym", 4, 0);
	becomes(4, "four.sym");
	ck_assert_str_eq(where(3, 0), "");
	end();
}
END_TEST

/* A directory that is read again counts once: else half of a large tree would go. */
START_TEST(test_limit)
{
	start();
	for (unsigned i = 1; i <= 5; i++) {
		char name[64];

		snprintf(name, sizeof(name), "tree/%u.sym", i);
		put(name, i, 0);
	}
	begin(NULL);
	becomes(5, "5.sym");
	scan->most = 7;
	put("tree/6.sym", 6, 0);
	becomes(6, "6.sym");
	for (unsigned i = 1; i <= 5; i++)
		ck_assert_str_ne(where(i, 0), "");
	put("tree/7.sym", 7, 0);
	put("tree/8.sym", 8, 0);
	put("tree/9.sym", 9, 0);
	becomes(7, where(7, 0));
	ck_assert_uint_le(scan->files, 7);
	end();
}
END_TEST

/* As it is now is not as it will be: also over the end of the process. */
START_TEST(test_unreadable)
{
	char *memory;

	start();
	memory = strdup(in_scratch("memory"));
	put("tree/one.sym", 1, 0);
	ck_assert_int_eq(chmod(in_scratch("tree/one.sym"), 0), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(scratch, 65534, 65534), 0);
		ck_assert_int_eq(chown(in_scratch("tree"), 65534, 65534), 0);
		ck_assert_int_eq(chown(in_scratch("tree/one.sym"), 65534, 65534), 0);
		ck_assert_int_eq(seteuid(65534), 0);
	}
	begin(memory);
	ck_assert_str_eq(where(1, 0), "");
	scan_stop(scan);
	begin(memory);
	ck_assert_str_eq(where(1, 0), "");
	ck_assert_int_eq(chmod(in_scratch("tree/one.sym"), 0400), 0);
	becomes(1, "one.sym");
	ck_assert_int_eq(seteuid(getuid()), 0);
	prctl(PR_SET_DUMPABLE, 1); /* otherwise LeakSanitizer cannot trace this process */
	free(memory);
	end();
}
END_TEST

/* All that a file answers to: a PE by its debug id, too; a map by the UUID that is its name. */
START_TEST(test_keys)
{
	struct key by_uuid = {.type = FILETYPE_BCSYMBOLMAP, .id = "2d10c42f591d3265b14778ba0868073f"};
	const char *top = getenv("top_srcdir");
	struct obj_slice s;
	struct key keys[OBJ_KEYS_MOST];
	char path[1024], *pe;
	struct view v;
	unsigned n;
	size_t size;

	start();
	snprintf(path, sizeof(path), "%s/tests/data/broken/pe/good", top ? top : ".");
	ck_assert_int_eq(path_read(AT_FDCWD, path, 1 << 20, &pe, &size), 0);
	write_file(in_scratch("tree/a.dll"), pe, size);
	write_file(in_scratch("tree/2D10C42F-591D-3265-B147-78BA0868073F.bcsymbolmap"),
		"BCSymbolMap Version: 2.0\n", 25);
	v = view_of_mem(pe, size);
	ck_assert_int_eq(obj_identify(&v, 0, &s, NULL), 0);
	obj_take_name(&s, "a.dll");
	n = obj_keys(&s, keys);
	ck_assert_uint_gt(n, 1);
	begin(NULL);
	for (unsigned i = 0; i < n; i++)
		key_becomes(&keys[i], "a.dll");
	key_becomes(&by_uuid, "2D10C42F-591D-3265-B147-78BA0868073F.bcsymbolmap");
	free(pe);
	end();
}
END_TEST

UNIT_MAIN("scan", test_root_moved, test_limit, test_unreadable, test_keys, test_walk, test_largest_first, test_follow, test_root_later, test_each,
	test_memory, test_memory_broken)

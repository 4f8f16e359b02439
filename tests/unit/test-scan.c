/* Tests a scanned tree as a source: files in it are found, also those added later; removed files
 * are not. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "pack/unarchive/wire.h"
#include "scratch.h"
#include "source/scan/private.h"

#include <sys/prctl.h>

#define MOST_MS 300000 /* a test that waits longer hangs */

static struct scan *scan;
static bool without_archives;
static char *worker; /* NULL: symfs */

static const char *helper(const char *name)
{
	static char path[4096];
	const char *top = getenv("top_builddir");

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	return path;
}

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

	struct scan_opts o = {.path = in_scratch("tree"), .memory = memory, .archives = !without_archives,
		.worker = worker ? worker : helper("libexec/unarchive")};

	ck_assert_msg(scan_start(&scan, &o, &e) == 0, "%s", e.text);
}

/* The nth path of a key, once the tree was walked; "": none. A member of an archive is "PATH!NAME". */
static const char *where(unsigned n, unsigned nth)
{
	static char room[PATH_MAX + SCAN_NAME];
	static struct scan_found at;
	uint64_t began = clock_ms();
	struct key k = key_n(n);
	int r;

	while ((r = scan_find(scan, &k, nth, &at)) == -EAGAIN)
		ck_assert_uint_lt(clock_ms() - began, MOST_MS);
	ck_assert(r == 0 || r == -ENOENT);
	snprintf(room, sizeof(room), "%s%s%s", r == 0 ? at.path : "", r == 0 && at.member ? "!" : "",
		r == 0 ? at.name : "");
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
	static struct scan_found at;
	uint64_t began = clock_ms();

	do
		ck_assert_uint_lt(clock_ms() - began, MOST_MS);
	while (scan_find(scan, k, 0, &at) < 0);
	ck_assert_str_eq(at.path, path);
}

static void state_becomes(const char *text)
{
	uint64_t began = clock_ms();
	char state[240];

	do {
		scan_state(scan, state);
	} while (strcmp(state, text) != 0 && clock_ms() - began < MOST_MS);
	ck_assert_str_eq(state, text);
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
	ck_assert_str_eq(state, "there, 1 artifact in 1 file");
	end();
}
END_TEST

static int count_key(void *ctx, const struct key *k)
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
	static const char *const texts[] = {"", "nonsense\n", "symfs scan 4\nf 1 2 3 x\n",
		"symfs scan 4\nd \nk none\tbreakpad 1\nf\nf x\nf 1 2\n", "symfs scan 4\nd \nf 1 2 3 \n",
		"symfs scan 4\nd \nf 1 2 3 a\nk \nk nonsense\nk none\tbreakpad zz\nk none\nk \t\nd \nd \nq\n",
		"symfs scan 1\nd \n", "symfs scan 4\nd \nf 99999999999999999999999 1 1 one.sym\n"};
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

/* A new directory, whose files come at once. The scan thread walks the whole tree then. */
static void put_below(const char *rel, unsigned from, unsigned to)
{
	make_dir("new");
	for (unsigned i = from; i <= to; i++) {
		char name[64];

		snprintf(name, sizeof(name), "new/%u.sym", i);
		put(name, i, 0);
	}
	ck_assert_int_eq(rename(in_scratch("new"), in_scratch(rel)), 0);
}

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
	pthread_mutex_lock(&scan->lock);
	scan->most = 7; /* a walk takes the lock before it reads this */
	pthread_mutex_unlock(&scan->lock);
	put_below("tree/a", 6, 6);
	becomes(6, "a/6.sym");
	for (unsigned i = 1; i <= 5; i++)
		ck_assert_str_ne(where(i, 0), "");
	put_below("tree/b", 7, 9);
	state_becomes("there, 7 artifacts in 7 files");
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

/* Makes an archive below the scratch directory by a helper. `words`: its other arguments; %s in it is the
 * directory. */
static void pack(const char *program, const char *rel, const char *words)
{
	char command[8192];
	int n;

	unlink(in_scratch(rel));
	n = snprintf(command, sizeof(command), "cd '%s' && '%s' '%s' %s", scratch, helper(program), rel, words);
	ck_assert(n > 0 && (size_t)n < sizeof(command));
	ck_assert_int_eq(system(command), 0);
}

/* Members of archives of each kind; a file comes before an equally good member. */
START_TEST(test_archives)
{
	start();
	write_file(in_scratch("words"), "words", 5);
	put("1", 1, 0);
	put("2", 2, 0);
	put("3", 3, 0);
	pack("tests/helpers/archive-write", "tree/a.deb", "deb xz usr/share/doc/x words "
		"usr/lib/one.sym 1 usr/lib/two.sym 2");
	pack("tests/helpers/archive-write", "tree/b.rpm", "rpm zst usr/lib/three.sym 3");
	put("4", 4, 0);
	put("5", 5, 0);
	put("6", 6, 0);
	put("7", 7, 0);
	put("8", 8, 0);
	pack("tests/helpers/archive-write", "tree/c.tar.gz", "tar gz ./four.sym 4 'f o.sym' 8");
	pack("tests/helpers/archive-write", "tree/d.7z", "7z none five.sym 5");
	pack("tests/helpers/zip-write", "tree/e.apk", "lib/ - lib/six.sym 6");
	pack("tests/helpers/zip-write", "tree/f.docx", "lib/seven.sym 7");
	put("tree/two.sym", 2, 0);
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "a.deb!usr/lib/one.sym");
	ck_assert_str_eq(where(1, 1), "");
	ck_assert_str_eq(where(2, 0), "two.sym");
	ck_assert_str_eq(where(2, 1), "a.deb!usr/lib/two.sym");
	ck_assert_str_eq(where(3, 0), "b.rpm!usr/lib/three.sym");
	ck_assert_str_eq(where(4, 0), "c.tar.gz!four.sym");
	ck_assert_str_eq(where(5, 0), "d.7z!five.sym");
	ck_assert_str_eq(where(6, 0), "e.apk!lib/six.sym");
	ck_assert_str_eq(where(7, 0), "");
	ck_assert_str_eq(where(8, 0), "c.tar.gz!f o.sym");
	state_becomes("there, 8 artifacts in 7 files, 5 archives");
	/* An archive that comes later, changes, goes. */
	pack("tests/helpers/archive-write", "tree/g.deb", "deb gz seven.sym 7");
	becomes(7, "g.deb!seven.sym");
	pack("tests/helpers/archive-write", "new", "deb none eight.sym 8 one.sym 1");
	ck_assert_int_eq(rename(in_scratch("new"), in_scratch("tree/g.deb")), 0);
	becomes(7, "");
	becomes(8, "g.deb!eight.sym");
	ck_assert_int_eq(unlink(in_scratch("tree/g.deb")), 0);
	becomes(8, "c.tar.gz!f o.sym");
	state_becomes("there, 8 artifacts in 7 files, 5 archives");
	end();
	without_archives = true;
	start();
	pack("tests/helpers/archive-write", "tree/a.tar", "tar none one.sym /dev/null");
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "");
	state_becomes("there, 0 artifacts in 1 file");
	without_archives = false;
	end();
}
END_TEST

/* A single file packed by a method that only libarchive reads. */
START_TEST(test_packed_file)
{
	start();
	put("1", 1, 0);
	pack("tests/helpers/archive-write", "tree/one.sym.xz", "raw xz x 1");
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "one.sym.xz!");
	end();
}
END_TEST

/* What was read is not read again, in the next process neither: shown by a memory that lies. */
START_TEST(test_archive_memory)
{
	char *memory = strdup((start(), in_scratch("memory"))), *text, *at;
	size_t n;

	put("1", 1, 0);
	put("2", 2, 0);
	pack("tests/helpers/archive-write", "tree/a.deb", "deb xz one.sym 1");
	pack("tests/helpers/archive-write", "tree/b.deb", "deb xz two.sym 2");
	begin(memory);
	ck_assert_str_eq(where(1, 0), "a.deb!one.sym");
	ck_assert_str_eq(where(9, 0), ""); /* said after the memory file was written */
	scan_stop(scan);
	ck_assert_int_eq(path_read(AT_FDCWD, memory, 1 << 20, &text, &n), 0);
	at = strstr(text, "\tbreakpad 00000001");
	ck_assert_ptr_nonnull(at);
	at[strlen("\tbreakpad 0000000")] = '7';
	unlink(memory);
	write_file(memory, text, n);
	put("3", 3, 0);
	pack("tests/helpers/archive-write", "tree/b.deb", "deb xz three.sym 3 other 2");
	begin(memory);
	ck_assert_str_eq(where(7, 0), "a.deb!one.sym");
	ck_assert_str_eq(where(1, 0), "");
	ck_assert_str_eq(where(3, 0), "b.deb!three.sym");
	ck_assert_str_eq(where(2, 0), "b.deb!other");
	state_becomes("there, 3 artifacts in 2 files, 2 archives");
	free(text);
	free(memory);
	end();
}
END_TEST

/* A broken archive has what comes before the fault, and costs the others nothing. */
START_TEST(test_archive_faults)
{
	char *text;
	size_t n;

	start();
	put("1", 1, 0);
	put("2", 2, 300);
	pack("tests/helpers/archive-write", "tree/whole.tar", "tar none one.sym 1 two.sym 2");
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("tree/whole.tar"), 1 << 20, &text, &n), 0);
	unlink(in_scratch("tree/whole.tar"));
	write_file(in_scratch("tree/cut.tar"), text, 512 + 512 + 512 + 100);
	free(text);
	put("3", 3, 0);
	pack("tests/helpers/archive-write", "tree/good.deb", "deb xz three.sym 3");
	write_file(in_scratch("tree/nothing.deb"), "!<arch>\ndebian-binary   and then something that is not the head "
		"of a member", 75);
	begin(NULL);
	ck_assert_str_eq(where(1, 0), "cut.tar!one.sym");
	ck_assert_str_eq(where(2, 0), "");
	ck_assert_str_eq(where(3, 0), "good.deb!three.sym");
	state_becomes("there, 2 artifacts in 3 files, 3 archives (2 with faults, see the log)");
	end();
}
END_TEST

/* Makes a worker that reports the error `r`, or for 0 a worker that works. */
static void make_worker(int r)
{
	const struct wire done = {.kind = WIRE_DONE, .r = r};
	const uint8_t *bytes = (const uint8_t *)&done;
	char text[8192];
	int n;

	if (r) {
		n = snprintf(text, sizeof(text), "#!/bin/sh\nprintf '");
		for (size_t i = 0; i < sizeof(done); i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "\\%03o", bytes[i]);
		n += snprintf(text + n, sizeof(text) - (size_t)n, "' >&4\n");
	} else {
		n = snprintf(text, sizeof(text), "#!/bin/sh\nexec '%s' \"$@\"\n", helper("libexec/unarchive"));
	}
	ck_assert(n > 0 && (size_t)n < sizeof(text));
	write_file(in_scratch("new"), text, (size_t)n);
	ck_assert_int_eq(chmod(in_scratch("new"), 0700), 0);
	ck_assert_int_eq(rename(in_scratch("new"), worker), 0);
}

/* An archive that this machine could not read is read again, after a restart and when its directory changes. */
START_TEST(test_archive_trouble)
{
	char *memory = strdup((start(), in_scratch("memory")));

	worker = strdup(in_scratch("worker"));
	put("1", 1, 0);
	put("2", 2, 0);
	pack("tests/helpers/archive-write", "tree/a.deb", "deb xz one.sym 1");
	make_worker(-EPERM);
	begin(memory);
	state_becomes("there, 0 artifacts in 1 file, 1 archive (1 with faults, see the log)");
	make_worker(0);
	write_file(in_scratch("tree/other"), "x", 1);
	becomes(1, "a.deb!one.sym");
	state_becomes("there, 1 artifact in 2 files, 1 archive");
	ck_assert_int_eq(unlink(worker), 0); /* no worker can be started */
	pack("tests/helpers/archive-write", "tree/b.deb", "deb xz two.sym 2");
	state_becomes("there, 1 artifact in 3 files, 2 archives (1 with faults, see the log)");
	scan_stop(scan);
	make_worker(0);
	begin(memory);
	becomes(2, "b.deb!two.sym");
	state_becomes("there, 2 artifacts in 3 files, 2 archives");
	scan_stop(scan);
	make_worker(-EBADMSG); /* the archive is at fault, and stays so */
	pack("tests/helpers/archive-write", "tree/c.deb", "deb xz three.sym 1");
	begin(memory);
	state_becomes("there, 2 artifacts in 4 files, 3 archives (1 with faults, see the log)");
	scan_stop(scan);
	make_worker(0);
	begin(memory);
	state_becomes("there, 2 artifacts in 4 files, 3 archives (1 with faults, see the log)");
	free(take(worker));
	free(memory);
	end();
}
END_TEST

UNIT_MAIN("scan", test_root_moved, test_limit, test_unreadable, test_keys, test_walk, test_largest_first, test_follow,
	test_root_later, test_each,
	test_memory, test_memory_broken, test_archives, test_packed_file, test_archive_memory, test_archive_faults,
	test_archive_trouble)

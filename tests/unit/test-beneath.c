/* Tests base/beneath.h, files below a directory: which links lead to them, and which are refused. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "scratch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define OTHER 65534 /* a uid that is not the tests' */

static void put(const char *path, const char *text)
{
	int fd = open(in_scratch(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void put_dir(const char *path)
{
	ck_assert_int_eq(mkdir(in_scratch(path), 0755), 0);
}

/* A target that begins with '/' is one below the scratch directory. */
static void put_link(const char *target, const char *path)
{
	ck_assert_int_eq(symlink(*target == '/' ? in_scratch(target + 1) : target, in_scratch(path)), 0);
}

static int base_of(const char *path)
{
	int fd = open(in_scratch(path), O_PATH | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* What is read, or an errno. */
static int try(const struct beneath *b, const char *path, char text[static 32])
{
	int fd = -1, r = beneath_open(b, path, &fd);
	ssize_t n = r == 0 ? read(fd, text, 31) : 0;

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	if (r == 0)
		close(fd);
	return r;
}

static const char *name_of(enum beneath_links l)
{
	static const char *const names[] = {"none", "inside", "owners", "all"};

	return names[l];
}

#define NO ""
#define PRIVATE "-EPERM"

static int error_of(const char *wanted)
{
	return !wanted ? -ENOENT : strcmp(wanted, PRIVATE) == 0 ? -EPERM : *wanted ? 0 : -EXDEV;
}

/* As the kernel resolves it and by hand: NO stands for -EXDEV, PRIVATE for -EPERM, NULL for -ENOENT. */
static void expect(const char *base, enum beneath_links links, const char *path, const char *wanted)
{
	struct beneath b = {.base = base_of(base), .links = links};
	char text[32];

	for (unsigned i = 0; i < 2; i++) {
		int r;

		b.by_hand = i;
		r = try(&b, path, text);
		ck_assert_msg(r == error_of(wanted) && (r || !strcmp(text, wanted)),
			"%s, %s, by hand %u: %d \"%s\"", path, name_of(links), i, r, text);
	}
	close(b.base);
}

static void expect_all(const char *path, const char *none, const char *inside, const char *owners, const char *all)
{
	expect("d", BENEATH_NONE, path, none);
	expect("d", BENEATH_INSIDE, path, inside);
	expect("d", BENEATH_OWNERS, path, owners);
	expect("d", BENEATH_ALL, path, all);
}

static void make_tree(void)
{
	scratch_dir();
	put_dir("d");
	put_dir("d/a");
	put_dir("d/a/b");
	put_dir("out");
	put("d/plain", "plain");
	put("d/a/b/deep", "deep");
	put("out/secret", "secret");
}

static void own(const char *path, uid_t uid)
{
	ck_assert_int_eq(lchown(in_scratch(path), uid, (gid_t)-1), 0);
}

START_TEST(plain_files)
{
	make_tree();
	expect_all("plain", "plain", "plain", "plain", "plain");
	expect_all("a/b/deep", "deep", "deep", "deep", "deep");
	expect_all("a//b/./deep", "deep", "deep", "deep", "deep");
	expect_all("a/../plain", "plain", "plain", "plain", "plain");
	expect_all("nothing", NULL, NULL, NULL, NULL);
	expect_all("a", NULL, NULL, NULL, NULL);
	expect_all("a/", NULL, NULL, NULL, NULL);
	ck_assert_int_eq(mkfifo(in_scratch("d/fifo"), 0600), 0);
	expect_all("fifo", NULL, NULL, NULL, NULL);
	scratch_end();
}
END_TEST

START_TEST(links_inside)
{
	make_tree();
	put_link("a/b/deep", "d/file");
	put_link("../../plain", "d/a/b/up");
	put_link("a/b", "d/dir");
	put_link("dir/up", "d/chain");
	put_link("../dir/../../chain", "d/a/long");
	expect_all("file", NO, "deep", "deep", "deep");
	expect_all("a/b/up", NO, "plain", "plain", "plain");
	expect_all("dir/deep", NO, "deep", "deep", "deep");
	expect_all("chain", NO, "plain", "plain", "plain");
	expect_all("dir/up", NO, "plain", "plain", "plain");
	expect_all("a/long", NO, "plain", "plain", "plain");
	put_link("round", "d/circle");
	put_link("circle", "d/round");
	put_link("turn", "d/turn");
	expect("d", BENEATH_INSIDE, "circle", NULL);
	expect("d", BENEATH_ALL, "circle", NULL);
	expect("d", BENEATH_INSIDE, "turn/x", NULL);
	put_link("nowhere", "d/dangling");
	expect("d", BENEATH_ALL, "dangling", NULL);
	scratch_end();
}
END_TEST

START_TEST(links_outside)
{
	make_tree();
	put_link("/out/secret", "d/absolute");
	put_link("../out/secret", "d/relative");
	put_link("../out", "d/dir");
	put_link("/", "d/root");
	put_link("../../../out/secret", "d/a/b/far");
	put_link("dir/secret", "d/chain");
	put_link("/d/plain", "d/home");
	put_link("../d/plain", "d/back");
	expect_all("absolute", NO, NO, "secret", "secret");
	expect_all("relative", NO, NO, "secret", "secret");
	expect_all("dir/secret", NO, NO, "secret", "secret");
	expect_all("root/out/secret", NO, NO, "secret", "secret");
	expect_all("a/b/far", NO, NO, "secret", "secret");
	expect_all("chain", NO, NO, "secret", "secret");
	expect_all("home", NO, NO, "plain", "plain");
	expect_all("back", NO, NO, "plain", "plain");
	/* What a caller passes may not leave by itself either. */
	expect_all("../out/secret", NO, NO, NO, NO);
	expect_all("a/../../out/secret", NO, NO, NO, NO);
	expect_all(in_scratch("out/secret"), NO, NO, NO, NO);
	scratch_end();
}
END_TEST

START_TEST(other_owners)
{
	if (geteuid() != 0)
		return;
	make_tree();
	put("out/theirs", "theirs");
	own("out/theirs", OTHER);
	put_link("../out/secret", "d/ours");
	put_link("../out/theirs", "d/to-theirs");
	put_link("../out/secret", "d/mallory");
	own("d/mallory", OTHER);
	put_link("a", "d/into");
	own("d/into", OTHER);
	put_link("/out/secret", "d/a/absolute");
	put_link("../d/mallory", "out/back");
	put_link("../out/back", "d/round-trip");
	put_link("a/b/deep", "d/tame");
	own("d/tame", OTHER);
	expect("d", BENEATH_OWNERS, "ours", "secret");
	expect("d", BENEATH_OWNERS, "to-theirs", NO);
	expect("d", BENEATH_ALL, "to-theirs", "theirs");
	expect("d", BENEATH_OWNERS, "mallory", NO);
	expect("d", BENEATH_ALL, "mallory", "secret");
	/* Each link on the way counts: to a directory before, and of the outside. */
	expect("d", BENEATH_OWNERS, "a/absolute", "secret");
	expect("d", BENEATH_OWNERS, "into/absolute", NO);
	expect("d", BENEATH_OWNERS, "round-trip", NO);
	expect("d", BENEATH_ALL, "round-trip", "secret");
	put_dir("out/sub");
	put("out/sub/deep", "deep secret");
	put_link("sub", "out/theirs-too");
	own("out/theirs-too", OTHER);
	put_link("../out", "d/outside");
	expect("d", BENEATH_OWNERS, "outside/sub/deep", "deep secret");
	expect("d", BENEATH_OWNERS, "outside/theirs-too/deep", NO);
	expect("d", BENEATH_ALL, "outside/theirs-too/deep", "deep secret");
	expect("d", BENEATH_OWNERS, "tame", PRIVATE);
	expect("d", BENEATH_ALL, "tame", "deep");
	/* A directory of the other owner trusts that owner's links, and not root's. */
	own("d", OTHER);
	expect("d", BENEATH_OWNERS, "ours", NO);
	expect("d", BENEATH_OWNERS, "mallory", NO);
	own("out/secret", OTHER);
	expect("d", BENEATH_OWNERS, "mallory", "secret");
	scratch_end();
}
END_TEST

static void chmod_of(const char *path, mode_t mode)
{
	ck_assert_int_eq(chmod(in_scratch(path), mode), 0);
}

static void expect_guarded(const char *path, const char *wanted)
{
	expect("d", BENEATH_INSIDE, path, wanted);
	expect("d", BENEATH_OWNERS, path, wanted);
}

START_TEST(private_files_inside)
{
	if (geteuid() != 0)
		return;
	make_tree();
	put_link("a/b/deep", "d/ours");
	put_link("a/b/deep", "d/theirs");
	put_link("a/b", "d/dir");
	put_link("theirs", "d/chain");
	own("d/theirs", OTHER);
	own("d/dir", OTHER);
	own("d/chain", OTHER - 1);
	/* deep is ours, and 0600. */
	expect_guarded("ours", "deep");
	expect_guarded("theirs", PRIVATE);
	expect_guarded("dir/deep", PRIVATE);
	expect_guarded("chain", PRIVATE);
	chmod_of("d/a/b/deep", 0644);
	expect_guarded("theirs", "deep");
	expect_guarded("dir/deep", "deep");
	expect_guarded("chain", "deep");
	/* Everyone may read it, but not everyone reaches it. */
	chmod_of("d/a", 0700);
	expect_guarded("ours", "deep");
	expect_guarded("theirs", PRIVATE);
	expect_guarded("dir/deep", PRIVATE);
	/* It is the link's author's own: two authors are too many. */
	own("d/a/b/deep", OTHER);
	expect_guarded("theirs", "deep");
	expect_guarded("dir/deep", "deep");
	expect_guarded("chain", PRIVATE);
	expect("d", BENEATH_ALL, "chain", "deep");
	scratch_end();
}
END_TEST

START_TEST(long_chains)
{
	char from[16], to[16];

	make_tree();
	for (unsigned i = 0; i < 41; i++) {
		snprintf(to, sizeof(to), i ? "%u" : "plain", i);
		snprintf(from, sizeof(from), "d/%u", i + 1);
		put_link(to, from);
	}
	/* As long as the kernel follows them. */
	expect_all("40", NO, "plain", "plain", "plain");
	expect("d", BENEATH_INSIDE, "41", NULL);
	ck_assert_int_lt(open(in_scratch("d/41"), O_RDONLY | O_CLOEXEC), 0);
	scratch_end();
}
END_TEST

START_TEST(base_is_a_link)
{
	make_tree();
	put_link("a/b/deep", "d/file");
	put_link("/out/secret", "d/absolute");
	put_link("/d", "way");
	expect("way", BENEATH_INSIDE, "file", "deep");
	expect("way", BENEATH_INSIDE, "absolute", NO);
	scratch_end();
}
END_TEST

START_TEST(directories)
{
	struct beneath b = {0};
	struct stat st, want;
	int fd;

	make_tree();
	put_link("a", "d/link");
	b.base = base_of("d");
	ck_assert_int_eq(stat(in_scratch("d/a/b"), &want), 0);
	for (unsigned i = 0; i < 2; i++) {
		b.by_hand = i;
		ck_assert_int_eq(beneath_open_dir(&b, "a/b", &fd), 0);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert(st.st_ino == want.st_ino);
		close(fd);
		ck_assert_int_eq(beneath_open_dir(&b, "", &fd), 0);
		close(fd);
		ck_assert_int_eq(beneath_open_dir(&b, "link/b", &fd), -EXDEV);
		ck_assert_int_eq(beneath_open_dir(&b, "plain", &fd), -ENOTDIR);
		ck_assert_int_eq(beneath_open_dir(&b, "..", &fd), -EXDEV);
	}
	close(b.base);
	scratch_end();
}
END_TEST

START_TEST(no_descriptor_is_lost)
{
	struct beneath b = {.links = BENEATH_OWNERS};
	static const char *const paths[] = {"plain", "dir/secret", "dir/nothing", "a/b/deep/x", "turn/x",
		"a/b/../../plain"};
	char text[32];
	int first, last;

	make_tree();
	put_link("../out", "d/dir");
	put_link("turn", "d/turn");
	b.base = base_of("d");
	first = dup(b.base);
	close(first);
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(paths); i++) {
		b.by_hand = i & 1;
		try(&b, paths[i / 2], text);
	}
	last = dup(b.base);
	ck_assert_int_eq(first, last);
	close(last);
	close(b.base);
	scratch_end();
}
END_TEST

static atomic_bool over;

/* d/swap is a directory and a link out of d, in turns. */
static void *swap_main(void *arg)
{
	char one[512], two[512];

	snprintf(one, sizeof(one), "%s/d/swap", scratch);
	snprintf(two, sizeof(two), "%s/d/way", scratch);
	while (!atomic_load(&over))
		syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, two, 2 /* RENAME_EXCHANGE */);
	return NULL;
}

START_TEST(swapped_while_it_is_opened)
{
	struct beneath b = {.links = BENEATH_INSIDE};
	unsigned inside = 0;
	pthread_t t;

	make_tree();
	put_dir("d/swap");
	put("d/swap/secret", "harmless");
	put_link("../out", "d/way");
	b.base = base_of("d");
	ck_assert_int_eq(pthread_create(&t, NULL, swap_main, NULL), 0);
	for (unsigned i = 0; i < 20000 || (inside == 0 && i < 2000000); i++) {
		char text[32];
		int r;

		b.by_hand = i & 1;
		r = try(&b, "swap/secret", text);
		inside += r == 0;
		ck_assert_msg(r != 0 || strcmp(text, "harmless") == 0, "read \"%s\"", text);
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
	ck_assert_uint_gt(inside, 0);
	close(b.base);
	scratch_end();
}
END_TEST

UNIT_MAIN("beneath", plain_files, links_inside, links_outside, other_owners, private_files_inside, long_chains,
	base_is_a_link, directories, no_descriptor_is_lost, swapped_while_it_is_opened)

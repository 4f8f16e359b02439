/* Tests `symfs cache`: output, changes of the store, exit codes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "scratch.h"
#include "store/sparse.h"

#include "base/path.h"

#include <json-c/json.h>

#define PATH_1 "gdb/.build-id/00/00000100112233445566778899aabbccddeeff.debug"

static char *printed; /* by the last command, on stdout */

static int run(const char *verb, const char *a, const char *b)
{
	const char *words[] = {"cache", "--no-default-sources", "--cache", scratch, verb, a, b, NULL};
	char *argv[ARRAY_SIZE(words)];
	int argc = a ? b ? 7 : 6 : 5, kept = dup(STDOUT_FILENO), status;
	int fd = open(in_scratch("out"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memcpy(argv, words, sizeof(argv));
	fflush(stdout);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	status = cmd_cache.run(argc, argv);
	fflush(stdout);
	ck_assert_int_ge(dup2(kept, STDOUT_FILENO), 0);
	close(kept);
	close(fd);
	free(printed);
	ck_assert_int_eq(path_read(AT_FDCWD, in_scratch("out"), 1 << 20, &printed, NULL), 0);
	return status;
}

static bool says(const char *text)
{
	return strstr(printed, text) != NULL;
}

static void fill(void)
{
	struct store *s;

	scratch_dir();
	s = open_scratch();
	for (unsigned i = 0; i < 3; i++) {
		struct key k = key_nth(i);

		ck_assert_int_eq(publish(s, &k, i, 1000 + i), 0);
		ck_assert_int_eq(store_miss_add(s, &k, "", "gone", 1000, "404"), 0);
	}
	store_close(s);
}

static void end(void)
{
	free(printed);
	printed = NULL;
	scratch_end();
}

START_TEST(lists)
{
	struct json_object *list, *size;

	fill();
	ck_assert_int_eq(run("ls", NULL, NULL), EXIT_DONE);
	ck_assert(says("elf_debug 0000000100112233445566778899aabbccddeeff") && says("1002"));
	ck_assert_int_eq(run("ls", PATH_1, NULL), EXIT_DONE);
	ck_assert(says(" 1001 ") && !says(" 1002 "));
	ck_assert_int_eq(run("ls", "--json", NULL), EXIT_DONE);
	list = json_tokener_parse(printed);
	ck_assert_uint_eq(json_object_array_length(list), 3);
	ck_assert(json_object_object_get_ex(json_object_array_get_idx(list, 2), "size", &size));
	ck_assert_int_eq(json_object_get_int(size), 1002);
	json_object_put(list);
	ck_assert_int_eq(run("ls", "--misses", NULL), EXIT_DONE);
	ck_assert(says("gone") && says("until "));
	ck_assert_int_eq(run("stats", NULL, NULL), EXIT_DONE);
	ck_assert(says("artifacts 3\nkeys 3\nbytes 3003\nmisses 3\n"));
	end();
}
END_TEST

START_TEST(shows_files_with_holes)
{
	struct sparse_validator v = {.size = 4 * SPARSE_BLOCK, .source = "test", .etag = "\"a\""};
	struct key k = key_nth(7);
	struct json_object *list;
	struct sparse *f;
	struct store *s;
	uint8_t *block = calloc(1, SPARSE_BLOCK);
	char link[64], path[300] = "";

	fill();
	s = open_scratch();
	ck_assert_int_eq(sparse_open(s, &k, &v, "http://127.0.0.1/x", &f, NULL), 0);
	ck_assert_int_eq(sparse_write(f, SPARSE_BLOCK, block, SPARSE_BLOCK), 0);
	ck_assert_int_eq(sparse_commit(f), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", sparse_fd(f));
	ck_assert_int_gt(readlink(link, path, sizeof(path) - 1), 0);
	sparse_unref(f);
	store_close(s);
	ck_assert_int_eq(run("ls", NULL, NULL), EXIT_DONE);
	ck_assert(says("  s-  elf_debug 0000000700112233445566778899aabbccddeeff  test  25%"));
	ck_assert_int_eq(run("ls", "--json", NULL), EXIT_DONE);
	list = json_tokener_parse(printed);
	ck_assert_uint_eq(json_object_array_length(list), 4);
	json_object_put(list);
	ck_assert(says("\"present\":65536"));
	ck_assert_int_eq(run("stats", NULL, NULL), EXIT_DONE);
	ck_assert(says("artifacts 3\n") && says("\nsparse 1\nsparse_bytes "));
	ck_assert_int_eq(run("verify", NULL, NULL), EXIT_DONE);
	{
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		ck_assert_int_eq(pwrite(fd, "x", 1, SPARSE_BLOCK + 5), 1);
		close(fd);
	}
	ck_assert_int_eq(run("verify", NULL, NULL), EXIT_NO);
	ck_assert(says("the checksum of a block differs\telf_debug 00000007") && says("/sparse/"));
	ck_assert_int_eq(run("gc", "--quota", "1"), EXIT_DONE);
	ck_assert(says("removed 1 sparse file, ") && says(" bytes; left 0, 0 bytes"));
	ck_assert_int_eq(run("rm", "elf_debug 0000000700112233445566778899aabbccddeeff", NULL), EXIT_NO);
	free(block);
	end();
}
END_TEST

START_TEST(verifies)
{
	struct key k = key_nth(1);
	struct store *s;
	struct blob *b;

	fill();
	ck_assert_int_eq(run("verify", NULL, NULL), EXIT_DONE);
	ck_assert(says("3 artifacts, none is damaged"));
	s = open_scratch();
	ck_assert_int_eq(store_find(s, &k, &b), 0);
	ck_assert_int_eq(unlink(blob_path(b)), 0);
	blob_unref(b);
	store_close(s);
	ck_assert_int_eq(run("verify", NULL, NULL), EXIT_NO);
	ck_assert(says("file is gone\telf_debug 00000001"));
	ck_assert_int_eq(run("verify", "--json", NULL), EXIT_NO);
	ck_assert(says("\"what\":\"file is gone\""));
	ck_assert_int_eq(run("gc", NULL, NULL), EXIT_DONE);
	ck_assert(says("removed 1 artifact, 1001 bytes; left 2 artifacts, 2002 bytes"));
	ck_assert_int_eq(run("verify", NULL, NULL), EXIT_DONE);
	end();
}
END_TEST

START_TEST(keeps_and_removes)
{
	const char *key_2 = "elf_debug 0000000200112233445566778899aabbccddeeff";

	fill();
	ck_assert_int_eq(run("pin", PATH_1, NULL), EXIT_DONE);
	ck_assert_int_eq(run("gc", "--quota", "1"), EXIT_DONE);
	ck_assert(says("left 1 artifact, 1001 bytes"));
	ck_assert_int_eq(run("ls", "--json", NULL), EXIT_DONE);
	ck_assert(says("\"kept_until\":\"always\""));
	ck_assert_int_eq(run("unpin", PATH_1, NULL), EXIT_DONE);
	ck_assert_int_eq(run("rm", key_2, PATH_1), EXIT_NO); /* the first went with the gc */
	ck_assert_int_eq(run("stats", NULL, NULL), EXIT_DONE);
	ck_assert(says("artifacts 0\n"));
	ck_assert_int_eq(run("rm", "--misses", PATH_1), EXIT_DONE);
	ck_assert(says("forgot 1 misses"));
	ck_assert_int_eq(run("rm", "--misses", NULL), EXIT_DONE);
	ck_assert(says("forgot 2 misses"));
	end();
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		const char *verb, *a;
		int status;
	} rows[] = {{"rm", NULL, EXIT_USAGE}, {"pin", NULL, EXIT_USAGE}, {"sell", NULL, EXIT_USAGE},
		{"stats", "x", EXIT_USAGE}, {"gc", "--misses", EXIT_USAGE}, {"rm", "desktop.ini", EXIT_NO},
		{"rm", "elf_debug aabb", EXIT_NO}, {"ls", "elf_debug nonsense", EXIT_NO}};

	fill();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(run(rows[i].verb, rows[i].a, NULL) == rows[i].status, "row %u", i);
	write_file(in_scratch("file"), "x", 1);
	ck_assert_int_eq(run("stats", "--cache", in_scratch("file")), EXIT_LOCAL);
	end();
}
END_TEST

UNIT_MAIN("cmd-cache", lists, shows_files_with_holes, verifies, keeps_and_removes, refuses)

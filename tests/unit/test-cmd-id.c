/* Tests `symfs id`: exit codes, JSON and text, and names that would move a terminal's cursor. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/util.h"
#include "unit.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char dir[] = "/tmp/symfs-id-XXXXXX";
static char said[1 << 16], complained[1 << 16];

static void slurp(FILE *f, char *out, size_t room)
{
	rewind(f);
	out[fread(out, 1, room - 1, f)] = '\0';
	fclose(f);
}

/* Runs the command in this process; what it wrote is in said[] and complained[]. */
static int run(const char *a, const char *b, const char *c)
{
	static char name[] = "id";
	char *argv[] = {name, (char *)(uintptr_t)a, (char *)(uintptr_t)b, (char *)(uintptr_t)c, NULL};
	FILE *out = tmpfile(), *err = tmpfile();
	int saved[2] = {dup(1), dup(2)}, argc = 1 + !!a + !!b + !!c, r;

	ck_assert(out && err);
	fflush(NULL);
	dup2(fileno(out), 1);
	dup2(fileno(err), 2);
	r = cmd_id.run(argc, argv);
	fflush(NULL);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	slurp(out, said, sizeof(said));
	slurp(err, complained, sizeof(complained));
	return r;
}

static const char *file(const char *name, const char *bytes)
{
	static char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	fputs(bytes, f);
	fclose(f);
	return path;
}

START_TEST(exit_codes)
{
	ck_assert_int_eq(run("/proc/self/exe", NULL, NULL), EXIT_DONE);
	ck_assert_ptr_nonnull(strstr(said, ": elf executable, "));
	ck_assert_str_eq(complained, "");
	ck_assert_int_eq(run(file("page", "<html></html>"), NULL, NULL), EXIT_NO);
	ck_assert_str_eq(said, "");
	ck_assert_ptr_nonnull(strstr(complained, "symfs id: "));
	ck_assert_ptr_nonnull(strstr(complained, "is an HTML page"));
	ck_assert_int_eq(run(file("empty", ""), "/proc/self/exe", NULL), EXIT_NO);
	ck_assert_int_eq(run(file("cut", "\177ELF\2\1\1"), NULL, NULL), EXIT_NO);
	ck_assert_ptr_nonnull(strstr(complained, "cut short before the end of its header"));
	ck_assert_int_eq(run("/no/such/file", file("text", "x\n"), NULL), EXIT_LOCAL);
	ck_assert_int_eq(run("/", NULL, NULL), EXIT_LOCAL);
	ck_assert_int_eq(run(NULL, NULL, NULL), EXIT_USAGE);
	ck_assert_int_eq(run("--no-such-option", "/proc/self/exe", NULL), EXIT_USAGE);
	ck_assert_int_eq(run("--help", NULL, NULL), EXIT_DONE);
	ck_assert_ptr_nonnull(strstr(said, "usage: symfs id [--json] [--pdb] FILE"));
	ck_assert_int_eq(run("--", "--json", NULL), EXIT_LOCAL);
}
END_TEST

START_TEST(a_pipe_is_not_waited_for)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/pipe", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(run(path, NULL, NULL), EXIT_LOCAL);
	ck_assert_ptr_nonnull(strstr(complained, "is not a regular file"));
}
END_TEST

static const char *text_of(struct json_object *o, const char *name)
{
	struct json_object *value;

	ck_assert_msg(json_object_object_get_ex(o, name, &value), "no %s", name);
	return json_object_get_string(value);
}

/* One object a slice, every word there, null where there is nothing to say. */
START_TEST(json)
{
	static const char *const words[] = {"path", "index", "format", "type", "kind", "arch", "code_id",
		"debug_id", "breakpad_id", "checksum", "name", "features", "worth", "keys", "error"};
	struct json_object *list, *o;

	ck_assert_int_eq(run("/proc/self/exe", "--json", file("t", "x\n")), EXIT_NO);
	list = json_tokener_parse(said);
	ck_assert_uint_eq(json_object_array_length(list), 2);
	for (unsigned i = 0; i < 2; i++) {
		o = json_object_array_get_idx(list, i);
		ck_assert_int_eq(json_object_object_length(o), ARRAY_SIZE(words));
		for (unsigned k = 0; k < ARRAY_SIZE(words); k++)
			text_of(o, words[k]);
	}
	o = json_object_array_get_idx(list, 0);
	ck_assert_str_eq(text_of(o, "format"), "elf");
	ck_assert_ptr_null(text_of(o, "error"));
	ck_assert_ptr_null(text_of(o, "name"));
	o = json_object_array_get_idx(list, 1);
	ck_assert_str_eq(text_of(o, "error"), "is text");
	ck_assert_ptr_null(text_of(o, "format"));
	ck_assert_ptr_null(text_of(o, "debug_id"));
	json_object_put(list);
}
END_TEST

START_TEST(names_are_not_trusted)
{
	const char *path = file("a\033[2Jb\nc\xff\xc2\x9b" "d\xc3\xa9", "x\n");
	struct json_object *list;

	ck_assert_int_eq(run(path, NULL, NULL), EXIT_NO);
	ck_assert_ptr_null(strchr(complained, '\033'));
	ck_assert_ptr_nonnull(strstr(complained, "a\\x1b[2Jb\\x0ac\\xff\\xc2\\x9bd\xc3\xa9: "));
	ck_assert_int_eq(run("--json", path, NULL), EXIT_NO);
	ck_assert_ptr_null(strchr(said, '\033'));
	ck_assert_ptr_null(strchr(said, '\xff'));
	list = json_tokener_parse(said);
	ck_assert_ptr_nonnull(list);
	json_object_put(list);
}
END_TEST

static int run_tests(int argc, char **argv)
{
	const TTest *const tests[] = {exit_codes, a_pipe_is_not_waited_for, json,
		names_are_not_trusted, NULL};
	char command[512];
	int r;

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	r = unit_run("cmd-id", tests);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) == 0 ? r : EXIT_FAILURE;
}

UNIT_ROW("cmd-id", run_tests)

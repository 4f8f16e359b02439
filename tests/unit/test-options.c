/* Tests what each command says about options: those of all commands with sources, --json, and an option that does not
 * exist. check-help.sh compares the help with the manual. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cmd.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char said[1 << 16], complained[1 << 16];

static void slurp(FILE *f, char *out, size_t room)
{
	rewind(f);
	out[fread(out, 1, room - 1, f)] = '\0';
	fclose(f);
}

/* Runs the command in this process; what it wrote is in said[] and complained[]. */
static int run(const struct cmd *c, const char *const *words)
{
	char *argv[16] = {(char *)(uintptr_t)c->name};
	FILE *out = tmpfile(), *err = tmpfile();
	int saved[2] = {dup(1), dup(2)}, argc = 1, r;

	ck_assert(out && err);
	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	fflush(NULL);
	dup2(fileno(out), 1);
	dup2(fileno(err), 2);
	r = c->run(argc, argv);
	fflush(NULL);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	slurp(out, said, sizeof(said));
	slurp(err, complained, sizeof(complained));
	return r;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Checks that a command refuses the words: exit status 2, nothing on stdout, and `symfs COMMAND: WHY` on stderr. */
static void refuses(const struct cmd *c, const char *const *words, const char *why)
{
	char start[200];

	snprintf(start, sizeof(start), "symfs %s: %s", c->name, why);
	ck_assert_msg(run(c, words) == EXIT_USAGE, "%s %s: not refused", c->name, words[0]);
	ck_assert_msg(begins(complained, start), "%s %s: %s", c->name, words[0], complained);
	ck_assert_str_eq(said, "");
}

/* Calls `check` for each command of `symfs help --dump`. Returns their number. */
static unsigned each_command(void (*check)(const struct cmd *c))
{
	unsigned n = 0;
	char *list, *save;

	ck_assert_int_eq(run(command_find("help"), (const char *const[]){"--dump", NULL}), EXIT_DONE);
	list = strdup(said);
	for (char *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!begins(line, "== ") || strcmp(line, "== symfs") == 0 || strcmp(line, "== options") == 0)
			continue;
		ck_assert_msg(command_find(line + 3) != NULL, "%s", line);
		check(command_find(line + 3));
		n++;
	}
	free(list);
	return n;
}

static unsigned configured, bare, refusals;

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_shared(const struct cmd *c)
{
	static const char *const options[] = {"--config=x", "--source=x", "--cache=x", "--cache-dir=x", "--offline",
		"--no-default-sources", "--lookup-deadline=1s"};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++) {
		char why[100];

		if (c->configured) {
			ck_assert_msg(run(c, WORDS(options[i], "--help")) == EXIT_DONE, "%s %s: %s", c->name,
				options[i], complained);
			continue;
		}
		snprintf(why, sizeof(why), "%.*s: this command uses no sources", (int)strcspn(options[i], "="),
			options[i]);
		refuses(c, WORDS(options[i]), why);
		refusals++;
	}
	*(c->configured ? &configured : &bare) += 1;
	if (!c->configured)
		return;
	ck_assert_int_eq(run(c, WORDS("--lookup-deadline", "soon")), EXIT_USAGE);
	ck_assert_msg(strstr(complained, "expected a time") != NULL, "%s: %s", c->name, complained);
}

START_TEST(shared_options)
{
	ck_assert_uint_ge(each_command(check_shared), 20);
	ck_assert_uint_ge(configured, 8);
	ck_assert_uint_ge(bare, 5);
	ck_assert_uint_ge(refusals, 40);
}
END_TEST

static void check_json(const struct cmd *c)
{
	if (c->json)
		return;
	refuses(c, WORDS("--json"), "--json: this command has no JSON output");
	refusals++;
}

START_TEST(json)
{
	each_command(check_json);
	ck_assert_uint_ge(refusals, 5);
}
END_TEST

static void check_unknown(const struct cmd *c)
{
	refuses(c, WORDS("--no-such-option"), "");
}

START_TEST(unknown_options)
{
	ck_assert_uint_ge(each_command(check_unknown), 20);
}
END_TEST

UNIT_MAIN("options", shared_options, json, unknown_options)

/* Lists the commands, finds them by name, and runs help and version. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/commands.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/nearest.h"
#include "config.h"
#include "source/source.h"

#include <string.h>

static const struct cmd *const commands[] = {
	&cmd_mount,
	&cmd_mount_helper,
	&cmd_umount,
	&cmd_serve,
	&cmd_token,
	&cmd_get,
	&cmd_warm,
	&cmd_wait,
	&cmd_core,
	&cmd_dsym,
	&cmd_add,
	&cmd_push,
	&cmd_id,
	&cmd_paths,
	&cmd_pdb,
	&cmd_parse,
	&cmd_why,
	&cmd_status,
	&cmd_sources,
	&cmd_config,
	&cmd_cache,
	&cmd_gsym,
	&cmd_sym,
	&cmd_addr2line,
	&cmd_symbolicate,
	&cmd_best,
	&cmd_help,
	&cmd_version,
};

/* Further names of commands, which users know from other tools. */
static const struct alias {
	const char *name;
	const struct cmd *cmd;
} aliases[] = {
	{"find", &cmd_get},
	{"prefetch", &cmd_warm},
	{"debug", &cmd_core},
};

const struct cmd *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return aliases[i].cmd;
	return NULL;
}

void commands_print(FILE *to)
{
	fprintf(to, "usage: symfs COMMAND [OPTIONS] ...\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *help = commands[i]->help;

		fprintf(to, "  %-12s %.*s\n", commands[i]->name, (int)strcspn(help, ".;:\n"), help);
	}
	fprintf(to, "\nOther names: find (get), prefetch (warm), debug (core).\n"
		    "`symfs help COMMAND` and symfs(1) have more; `symfs help options` has what\n"
		    "all commands with sources take.\n");
}

int command_unknown(const char *word)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	struct nearest n = {.word = word};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		nearest_try(&n, commands[i]->name);
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		nearest_try(&n, aliases[i].name);
	url_for_message(word, &shown);
	fprintf(stderr, "symfs: no such command: %.100s", buf_text(&shown));
	if (n.best)
		fprintf(stderr, "; did you mean %s?\n", n.best);
	else
		fprintf(stderr, "; `symfs help` lists them\n");
	return EXIT_USAGE;
}

/* ---- help ---------------------------------------------------------------------------- */

static int help_of(const struct cmd *c)
{
	char name[40], help[] = "--help", *argv[] = {name, help, NULL};

	snprintf(name, sizeof(name), "%s", c->name);
	return c->run(2, argv);
}

/* Prints all texts of `symfs help`. A line `== NAME` comes before each. */
static void dump_help(void)
{
	printf("== symfs\n");
	commands_print(stdout);
	printf("== options\n");
	app_print_options();
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		printf("== %s\n", commands[i]->name);
		help_of(commands[i]);
	}
}

static int run_help(int argc, char **argv)
{
	bool dump = false;
	const struct opt own[] = {{"dump", 0, NULL, "print all texts, each after `== NAME`", &dump}, {0}};
	struct app_args args;
	int status = app_options(&args, &cmd_help, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > (dump ? 1 : 2)) {
		fprintf(stderr, "symfs help: expected one COMMAND; try: symfs help\n");
		return EXIT_USAGE;
	}
	if (dump)
		dump_help();
	else if (argc == 2 && strcmp(argv[1], "options") == 0)
		app_print_options();
	else if (argc == 2)
		return command_find(argv[1]) ? help_of(command_find(argv[1])) : command_unknown(argv[1]);
	else
		commands_print(stdout);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND|options|--dump]",
	.help = "Lists the commands; or prints the usage, options and examples of one. `options`\n"
		"are those that all commands with sources share",
	.examples = {"symfs help", "symfs help get"},
	.run = run_help,
};

static int run_version(int argc, char **argv)
{
	struct app_args args;
	int status = app_options(&args, &cmd_version, NULL, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > 1) {
		fprintf(stderr, "symfs version: expected no words; try: symfs version --help\n");
		return EXIT_USAGE;
	}
	printf("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_LOCAL;
}

const struct cmd cmd_version = {
	.name = "version",
	.args = "",
	.help = "Prints the version of symfs",
	.examples = {"symfs version", "symfs --version"},
	.run = run_version,
};

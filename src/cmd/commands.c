/* Lists the commands, finds them by name, and chooses the one to run. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "base/util.h"
#include "cmd/app.h"
#include "config.h"
#include "source/source.h"

#include <string.h>
#include <unistd.h>

static const struct cmd cmd_help, cmd_version;

/* The commands, in the order of help, with what each does for a user. The rows have the form
 * that the rule of command_pages in Makefile.am reads. */
static const struct row {
	const struct cmd *cmd;
	const char *group; /* the title before the command; NULL: that of the row before; "": not listed */
	const char *brief;
} commands[] = {
	{&cmd_symbolicate, "Names for a crash", "names the functions in a core, minidump, process, log or request"},
	{&cmd_addr2line, NULL, "prints function, file and line of addresses in a program"},
	{&cmd_core, NULL, "starts gdb or lldb on a core with all its symbols"},
	{&cmd_get, "Look and fetch", "downloads the symbols of a file, an identifier or a directory"},
	{&cmd_why, NULL, "explains why a file is not there"},
	{&cmd_id, NULL, "prints the identifiers of a file"},
	{&cmd_sources, NULL, "lists the servers in use, and checks them"},
	{&cmd_init, NULL, "writes a first configuration"},
	{&cmd_mount, "Mount", "makes the symbols of all servers one directory"},
	{&cmd_umount, NULL, "ends a mount"},
	{&cmd_status, NULL, "shows what a mount does now"},
	{&cmd_setup, NULL, "makes every debugger of this machine ask the mount"},
	{&cmd_serve, "Share", "gives a mount's files to a team over HTTP, and takes uploads"},
	{&cmd_push, NULL, "uploads the symbols of a build"},
	{&cmd_add, "Store", "keeps files of this machine in the store"},
	{&cmd_cache, NULL, "lists, checks and cleans the store"},
	{&cmd_gsym, "Formats", "makes and reads GSYM files"},
	{&cmd_sym, NULL, "makes the Breakpad symbol file of a program"},
	{&cmd_best, "", "says which file of a module is the best"},
	{&cmd_dsym, "", "finds the dSYM of a UUID, as dsymForUUID does"},
	{&cmd_help, "", "prints the usage of a command"},
	{&cmd_mount_helper, "", "mounts for a daemon without rights"},
	{&cmd_parse, "", "says what a path of a layout means"},
	{&cmd_paths, "", "prints where each layout has a file"},
	{&cmd_pdb, "", "prints the contents of a PDB"},
	{&cmd_token, "", "manages the tokens of a server"},
	{&cmd_version, "", "prints the version"},
	{&cmd_wait, "", "waits until a file is there"},
	{&cmd_warm, "", "downloads all files of a core, minidump, process or directory"},
};

/* Further names of commands, which users know from other tools. */
static const struct alias {
	const char *name;
	const struct cmd *cmd;
} aliases[] = {
	{"find", &cmd_get},
	{"fetch", &cmd_get},
	{"prefetch", &cmd_warm},
	{"debug", &cmd_core},
	{"config", &cmd_init},
};

/* Words that make one command another: an option, or the first operand. `-p` before a process id is skipped. */
static const struct way {
	const struct cmd *from, *to;
	const char *word;
	bool kept; /* `to` has the option, too */
} ways[] = {
	{&cmd_get, &cmd_wait, "--wait", false},
	{&cmd_id, &cmd_pdb, "--pdb", false},
	{&cmd_paths, &cmd_parse, "--parse", false},
	{&cmd_serve, &cmd_token, "token", false},
	{&cmd_symbolicate, &cmd_symbolicate, "-p", false},
	{&cmd_why, &cmd_best, "--for", true},
};

/* Words that users try, and what they lead to. */
static const struct lead {
	const char *word, *text;
} leads[] = {
	{"backtrace", "`symfs symbolicate CORE` prints the stacks of a core"},
	{"bt", "`symfs symbolicate CORE` prints the stacks of a core"},
	{"gdb", "`symfs core CORE` starts gdb on a core"},
	{"layouts", "symfs-layouts(7) describes them, and `symfs paths FILE` prints the paths of a file in each"},
	{"list", "`symfs cache ls` lists the store, `symfs sources` the servers, and ls(1) a mount"},
	{"ls", "`symfs cache ls` lists the store, `symfs sources` the servers, and ls(1) a mount"},
	{"lookup", "`symfs addr2line FILE ADDR` names an address"},
	{"unmount", "`symfs umount DIR` ends a mount"},
};

const struct cmd *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].cmd->name, name) == 0)
			return commands[i].cmd;
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return aliases[i].cmd;
	return NULL;
}

/* Where the command line has the word of the way; 0: it does not have it. */
static int way_at(const struct way *w, int argc, char **argv)
{
	size_t n = strlen(w->word);

	for (int i = 1; i < (w->word[0] == '-' ? argc : MIN(argc, 2)) && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], w->word, n) == 0 && (!argv[i][n] || argv[i][n] == '='))
			return i;
	return 0;
}

/* Runs the command, or the one that an option makes of it, as `why --for` is `best`. Returns the exit status. */
static int command_run(const struct cmd *c, int argc, char **argv)
{
	for (const struct way *w = ways; w < ways + ARRAY_SIZE(ways); w++) {
		int at = w->from == c ? way_at(w, argc, argv) : 0;

		if (!at)
			continue;
		if (!w->kept)
			memmove(&argv[at], &argv[at + 1], (size_t)(argc-- - at) * sizeof(*argv));
		return w->to->run(argc, argv);
	}
	return c->run(argc, argv);
}

/* Prints the commands of the groups, or the others. */
static void print_rows(FILE *to, bool others)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if ((commands[i].group && !*commands[i].group) != others)
			continue;
		if (commands[i].group && !others)
			fprintf(to, "\n%s\n", commands[i].group);
		fprintf(to, "  %-12s %s\n", commands[i].cmd->name, commands[i].brief);
	}
}

static void commands_print(FILE *to)
{
	fprintf(to, "usage: symfs COMMAND [OPTIONS] ...\n");
	print_rows(to, false);
	fprintf(to, "\n`symfs help COMMAND` shows the options and examples of a command. `symfs help\n"
		    "options` shows the options that all commands with sources share. The manual page\n"
		    "symfs(1) explains the rest.\n");
}

static void offer_commands(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		complete_offer(commands[i].cmd->name, commands[i].brief);
}

/* For the completions of shells (complete.c): completes the last line of `words`, which has all words after `symfs`.
 * Returns an exit status. */
static int commands_complete(const char *words)
{
	const char *rest = strchr(words, '\n');
	_cleanup_free_ char *name = strndup(words, strcspn(words, "\n")), *option = NULL;
	const struct cmd *c = name && rest ? command_find(name) : NULL;

	if (!rest) {
		offer_commands();
		complete_offer("--help", "print the usage");
		complete_offer("--version", "print the version");
	} else if (c && asprintf(&option, COMPLETE_OPTION "%s", rest + 1) >= 0) {
		char *argv[] = {name, option, NULL};

		return c->run(2, argv);
	}
	return c || !rest ? EXIT_DONE : EXIT_USAGE;
}

/* Prints to stderr that there is no such command, and which command the user probably meant. Returns EXIT_USAGE. */
static int command_unknown(const char *word)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);
	struct nearest n = {.word = word};
	const char *lead = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		nearest_try(&n, commands[i].cmd->name);
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		nearest_try(&n, aliases[i].name);
	url_for_message(word, &shown);
	fprintf(stderr, "symfs: no such command: %.100s", buf_text(&shown));
	for (size_t i = 0; i < ARRAY_SIZE(leads) && !lead; i++)
		lead = strcmp(leads[i].word, word) == 0 ? leads[i].text : NULL;
	if (lead)
		fprintf(stderr, "; %s\n", lead);
	else if (access(word, F_OK) == 0)
		fprintf(stderr, "; for the names in a crash: symfs symbolicate FILE\n");
	else if (n.best)
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
		printf("== %s\n", commands[i].cmd->name);
		help_of(commands[i].cmd);
	}
}

static int run_help(int argc, char **argv)
{
	bool dump = false, all = false;
	const struct opt own[] = {{"dump", 0, NULL, "print all texts, each after `== NAME`", &dump},
		{"all", 0, NULL, "list the other commands, too", &all}, {0}};
	struct app_args args;
	int status = app_options(&args, &cmd_help, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > (dump ? 1 : 2))
		return cmd_say(EXIT_USAGE, "expected one COMMAND; try: symfs help");
	if (dump)
		dump_help();
	else if (argc == 2 && strcmp(argv[1], "options") == 0)
		app_print_options();
	else if (argc == 2)
		return command_find(argv[1]) ? help_of(command_find(argv[1])) : command_unknown(argv[1]);
	else
		commands_print(stdout);
	if (all && argc == 1) {
		printf("\nOthers\n");
		print_rows(stdout, true);
	}
	return cmd_flush(EXIT_DONE);
}

static bool offer_help(const char *noun, const char *typed)
{
	if (strcmp(noun, "COMMAND") != 0)
		return false;
	offer_commands();
	return true;
}

static const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND|options|--all|--dump]",
	.help = "Lists the commands; or prints the usage, options and examples of one. `options`\n"
		"are those that all commands with sources share",
	.examples = {"symfs help", "symfs help get"},
	.offer = offer_help,
	.run = run_help,
};

static int run_version(int argc, char **argv)
{
	struct app_args args;
	int status = app_options(&args, &cmd_version, NULL, &argc, argv);

	if (status >= 0)
		return status;
	if (argc > 1)
		return cmd_usage("this command takes no arguments");
	printf("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
	return cmd_flush(EXIT_DONE);
}

static const struct cmd cmd_version = {
	.name = "version",
	.args = "",
	.help = "Prints the version of symfs",
	.examples = {"symfs version", "symfs --version"},
	.run = run_version,
};

/* ---- the choice ------------------------------------------------------------------------ */

/* Whether the command line is `symfs SRC DIR -o OPTS`: mount(8) calls its helpers in this way. */
static bool is_mount(int argc, char **argv)
{
	return argc >= 4 && argv[1][0] != '-' && argv[2][0] != '-' &&
	       strncmp(argv[3], "-o", 2) == 0;
}

int commands_run(const struct cmd *c, int argc, char **argv)
{
	if (c)
		return command_run(c, argc - 1, argv + 1);
	if (is_mount(argc, argv))
		return cmd_mount.run(argc, argv);
	if (argc == 2 && strncmp(argv[1], COMPLETE_OPTION, strlen(COMPLETE_OPTION)) == 0)
		return commands_complete(argv[1] + strlen(COMPLETE_OPTION));
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return cmd_version.run(1, argv);
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		commands_print(stdout);
		return EXIT_DONE;
	}
	if (argc > 1)
		return command_unknown(argv[1]);
	commands_print(stderr);
	return EXIT_USAGE;
}

/* The main function of symfs: the table of its commands, and the choice of the command to run. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/secrets.h"
#include "config.h"
#include "source/source.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cmd *const commands[] = {
	&cmd_mount,
	&cmd_mount_helper,
	&cmd_umount,
	&cmd_serve,
	&cmd_get,
	&cmd_warm,
	&cmd_core,
	&cmd_add,
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
	&cmd_addr2line,
	&cmd_symbolicate,
	&cmd_best,
};

/* Names that users guess from other tools. */
static const struct {
	const char *name;
	const struct cmd *cmd;
} aliases[] = {
	{"find", &cmd_get},
	{"prefetch", &cmd_warm},
	{"debug", &cmd_core},
};

static void print_commands(FILE *to)
{
	fprintf(to, "usage: symfs COMMAND [OPTIONS] ...\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *help = commands[i]->help;

		fprintf(to, "  %-12s %.*s\n", commands[i]->name, (int)strcspn(help, ".;:\n"), help);
	}
	fprintf(to, "\nOther names: find (get), prefetch (warm), debug (core).\n");
	fprintf(to, "See symfs COMMAND --help and symfs(1) for more.\n");
}

static const struct cmd *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return aliases[i].cmd;
	return NULL;
}

static void no_such_command(const char *word)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(8192);

	url_for_message(word, &shown);
	fprintf(stderr, "symfs: no such command: %.100s\n", buf_text(&shown));
}

/* `symfs SRC DIR -o OPTS`, as mount(8) calls its helpers. */
static bool is_mount(int argc, char **argv)
{
	return argc >= 4 && argv[1][0] != '-' && argv[2][0] != '-' &&
	       strncmp(argv[3], "-o", 2) == 0;
}

/* Opens /dev/null on each standard stream that the caller closed. The next open() would take the
 * free number, and messages would go into a file of the store. The mode is the opposite of the stream's use
 * (write-only for stdin), so that reading the input and writing results still fail. -1: /dev/null cannot be opened. */
static int fill_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *room = NULL; /* a copy of secret arguments, which other users must not read */
	const struct cmd *c = argc > 1 ? find_command(argv[1]) : NULL;

	if (fill_streams() < 0)
		return EXIT_LOCAL;
	if (secrets_cover(argc, argv, &room) < 0)
		return EXIT_LOCAL;
	log_topics(getenv("SYMFS_DEBUG"));
	if (c)
		return c->run(argc - 1, argv + 1);
	if (is_mount(argc, argv))
		return cmd_mount.run(argc, argv);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
		return EXIT_DONE;
	}
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_commands(stdout);
		return EXIT_DONE;
	}
	if (argc > 1)
		no_such_command(argv[1]);
	print_commands(stderr);
	return EXIT_USAGE;
}

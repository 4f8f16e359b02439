/* The main function of symfs: the table of its commands, and the choice of the command to run. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/secrets.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether the command line is `symfs SRC DIR -o OPTS`: mount(8) calls its helpers in this way. */
static bool is_mount(int argc, char **argv)
{
	return argc >= 4 && argv[1][0] != '-' && argv[2][0] != '-' &&
	       strncmp(argv[3], "-o", 2) == 0;
}

/* Opens /dev/null on each standard stream that the caller closed. Otherwise the next open() would take the
 * free number, and messages would go into a file of the store. The mode is the opposite of the stream's use
 * (write-only for stdin), so that reading the input and writing results still fail. -1: /dev/null cannot be
 * opened. */
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
	const struct cmd *c = argc > 1 ? command_find(argv[1]) : NULL;

	if (fill_streams() < 0)
		return EXIT_LOCAL;
	if (secrets_cover(argc, argv, &room) < 0)
		return EXIT_LOCAL;
	log_topics(getenv("SYMFS_DEBUG"));
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

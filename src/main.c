/* The main function of symfs: what it does before a command runs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "cmd/cmd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The part of a word between :// and the last @, which can be a password, even a password with / or #. NULL: there
 * is no such part. */
static char *secret_of(char *word, char **end)
{
	char *scheme = strstr(word, "://"), *at = scheme ? strrchr(scheme, '@') : NULL;

	*end = at ? at + 1 : NULL;
	return at ? scheme + 3 : NULL;
}

static void erase(char *secret, const char *end)
{
	size_t left = strlen(end), gone = (size_t)(end - secret);

	memmove(secret, end, left);
	explicit_bzero(secret + left, gone);
}

/* Removes user names and passwords from the URLs of the command line, which other users see in the process list.
 * Each changed word is first copied, and argv then points to the copy. The caller frees `room`, which holds the
 * copies. 0, -ENOMEM. */
static int secrets_cover(int argc, char **argv, char **room)
{
	size_t n = 0;
	char *end, *p;

	for (int i = 1; i < argc; i++)
		n += secret_of(argv[i], &end) ? strlen(argv[i]) + 1 : 0;
	*room = p = malloc(n ? n : 1);
	if (!p)
		return -ENOMEM;
	for (int i = 1; i < argc; i++) {
		char *secret = secret_of(argv[i], &end);
		size_t size = strlen(argv[i]) + 1;

		if (!secret)
			continue;
		memcpy(p, argv[i], size);
		erase(secret, end);
		argv[i] = p;
		p += size;
	}
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
	return commands_run(c, argc, argv);
}

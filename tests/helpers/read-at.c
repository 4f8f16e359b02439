/* Reads a part of a file that the shell has opened: the program opens no file and reads no other
 * part.
 *
 *	read-at OFFSET COUNT <FILE >BYTES
 *
 * Exit status 1: an error, with a message on stderr. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long long off, left;
	char room[65536];

	if (argc != 3)
		return 2;
	off = strtoll(argv[1], NULL, 10);
	for (left = strtoll(argv[2], NULL, 10); left > 0;) {
		ssize_t n = pread(STDIN_FILENO, room, left < (long long)sizeof(room) ? (size_t)left : sizeof(room),
			off);

		if (n < 0) {
			fprintf(stderr, "read-at: %s\n", strerror(errno));
			return 1;
		}
		if (n == 0)
			break;
		fwrite(room, 1, (size_t)n, stdout);
		off += n;
		left -= n;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}

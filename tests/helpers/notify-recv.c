/* Replaces systemd's notification socket in tests: prints each line of each datagram that arrives
 * at the socket PATH, until the program is ended. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char text[4096];
	ssize_t n;
	int fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof(a.sun_path)) {
		fprintf(stderr, "usage: notify-recv PATH\n");
		return 2;
	}
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", argv[1]);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror(argv[1]);
		return 1;
	}
	while ((n = recv(fd, text, sizeof(text), 0)) >= 0) {
		printf("%.*s\n", (int)n, text);
		fflush(stdout);
	}
	perror("recv");
	return 1;
}

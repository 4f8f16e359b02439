/* An HTTP client that misbehaves, for tests of servers:
 *
 *	rude-client PORT idle N [LINE]	opens N connections, on each sends the head of a request with the request
 *LINE,
 *					prints `open`, and holds them until stdin ends
 *	rude-client PORT slow		sends a byte of a head every 100 ms until the server ends the connection:
 *`closed`
 *	rude-client PORT drip [LINE]	the same with a body, of a POST or of the request LINE: `closed`
 *	rude-client PORT endless	sends a GET with a body that has no end: `closed`
 *	rude-client PORT silent		sends nothing until the server ends the connection: `closed`
 *	rude-client PORT half		sends half a head, then ends its sending side: `closed`
 *	rude-client PORT head BYTES	sends a header of that size, prints the status line
 *	rude-client PORT upload BYTES	sends a POST with a body of that size, all of it before it reads
 *					anything: the status line, or `broken`
 *	rude-client PORT pipeline N PATH	sends N requests at once, prints the number of 200s
 *	rude-client PORT raw		sends stdin byte for byte, prints the status of each answer, a line each,
 *					until the server ends the connection
 *	rude-client PORT bare PATH	sends HEAD with Accept-Encoding: gzip, and a GET at once; prints the number of
 *					bytes between the head and the next answer, or the end
 *
 * It gives up after a minute. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned port;

static int dial(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror("connect");
		exit(2);
	}
	return fd;
}

static bool put(int fd, const char *text)
{
	return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static int until_closed(int fd)
{
	char room[4096];

	while (read(fd, room, sizeof(room)) > 0)
		;
	puts("closed");
	return 0;
}

/* A request whose body, 20,000 bytes, does not come with it. */
static const char *body_follows(const char *line, char text[static 300])
{
	snprintf(text, 300, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n", line);
	return text;
}

static int idle(unsigned n, const char *line)
{
	char c, text[300];

	while (n-- > 0) {
		int fd = dial();

		if (line && !put(fd, body_follows(line, text)))
			return 2;
	}
	puts("open");
	fflush(stdout);
	alarm(0);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}

/* Sends the head, and then again and again the text, until there is an answer or an end. */
static int insist(const char *begin, const char *text, useconds_t pause)
{
	int fd = dial();
	char c;

	put(fd, begin);
	do
		usleep(pause);
	while (put(fd, text) && recv(fd, &c, 1, MSG_DONTWAIT) < 0);
	puts("closed");
	return 0;
}

static int slow(void)
{
	return insist("GET /healthz HTTP/1.1\r\nX-Slow: ", "x", 100000);
}

static int drip(const char *line)
{
	char text[300];

	return insist(body_follows(line ? line : "POST /symbolicate/v5", text), "x", 100000);
}

static int endless(void)
{
	static char chunk[4096 + 9];

	snprintf(chunk, sizeof(chunk), "1000\r\n%04096d\r\n", 0);
	return insist("GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, 0);
}

static int half(void)
{
	int fd = dial();

	put(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
	shutdown(fd, SHUT_WR);
	return until_closed(fd);
}

static int head(unsigned long bytes)
{
	char *text = malloc(bytes + 1), line[64] = "";
	int fd = dial();

	if (!text)
		return 2;
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	if (put(fd, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: ") && put(fd, text))
		put(fd, "\r\nConnection: close\r\n\r\n");
	if (read(fd, line, sizeof(line) - 1) > 0)
		printf("%.*s\n", (int)strcspn(line, "\r\n"), line);
	else
		puts("closed");
	free(text);
	return 0;
}

static int upload(size_t n)
{
	char head[200], *body = malloc(n + 1), room[4096];
	int fd = dial();
	ssize_t r;

	if (!body)
		return 2;
	memset(body, ' ', n);
	body[n] = '\0';
	snprintf(head, sizeof(head), "POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
		"%zu\r\n\r\n", n);
	if (put(fd, head) && put(fd, body) && (r = read(fd, room, sizeof(room) - 1)) > 0) {
		room[r] = '\0';
		room[strcspn(room, "\r")] = '\0';
		puts(room);
	} else {
		puts("broken");
	}
	free(body);
	return 0;
}

static int pipeline(unsigned n, const char *path)
{
	size_t room = (size_t)n * (strlen(path) + 64), got = 0, most = (size_t)n * 65536;
	char *ask = calloc(1, room), *in = malloc(most + 1);
	int fd = dial(), found = 0;
	ssize_t r;

	if (!ask || !in)
		return 2;
	for (unsigned i = 0, at = 0; i < n; i++)
		at += (unsigned)snprintf(ask + at, room - at, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path,
			i + 1 == n ? "Connection: close\r\n" : "");
	put(fd, ask);
	while (got < most && (r = read(fd, in + got, most - got)) > 0)
		got += (size_t)r;
	in[got] = '\0';
	for (char *p = in; (p = strstr(p, "HTTP/1.1 200 ")); p++)
		found++;
	printf("%d\n", found);
	free(ask);
	free(in);
	return 0;
}

static int bare(const char *path)
{
	char ask[1000], in[65536];
	size_t got = 0;
	int fd = dial();
	const char *end, *next;
	ssize_t r;

	snprintf(ask, sizeof(ask), "HEAD %s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	put(fd, ask);
	while (got < sizeof(in) - 1 && (r = read(fd, in + got, sizeof(in) - 1 - got)) > 0)
		got += (size_t)r;
	in[got] = '\0';
	end = strstr(in, "\r\n\r\n");
	if (!end)
		return 2;
	next = strstr(end, "HTTP/1.1 ");
	printf("%zu\n", (next ? (size_t)(next - end) : strlen(end)) - 4);
	return 0;
}

static int raw(void)
{
	char room[65536];
	int fd = dial();
	size_t n = 0;
	ssize_t r;

	while (n < sizeof(room) && (r = read(STDIN_FILENO, room + n, sizeof(room) - n)) > 0)
		n += (size_t)r;
	if (send(fd, room, n, MSG_NOSIGNAL) != (ssize_t)n)
		return 2;
	for (n = 0; n < sizeof(room) - 1 && (r = read(fd, room + n, sizeof(room) - 1 - n)) > 0;)
		n += (size_t)r;
	room[n] = '\0';
	for (char *p = room; (p = strstr(p, "HTTP/1.1 ")); p += 9)
		if (strspn(p + 9, "0123456789") == 3)
			printf("%.3s\n", p + 9);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	struct rlimit l;

	if (argc < 3)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	port = (unsigned)strtoul(argv[1], NULL, 10);
	alarm(600);
	if (strcmp(what, "idle") == 0 && argc >= 4)
		return idle((unsigned)strtoul(argv[3], NULL, 10), argc > 4 ? argv[4] : NULL);
	if (strcmp(what, "slow") == 0)
		return slow();
	if (strcmp(what, "drip") == 0)
		return drip(argc > 3 ? argv[3] : NULL);
	if (strcmp(what, "endless") == 0)
		return endless();
	if (strcmp(what, "silent") == 0)
		return until_closed(dial());
	if (strcmp(what, "half") == 0)
		return half();
	if (strcmp(what, "head") == 0 && argc == 4)
		return head(strtoul(argv[3], NULL, 10));
	if (strcmp(what, "upload") == 0 && argc == 4)
		return upload(strtoul(argv[3], NULL, 10));
	if (strcmp(what, "pipeline") == 0 && argc == 5)
		return pipeline((unsigned)strtoul(argv[3], NULL, 10), argv[4]);
	if (strcmp(what, "raw") == 0)
		return raw();
	if (strcmp(what, "bare") == 0 && argc == 4)
		return bare(argv[3]);
	return 2;
}

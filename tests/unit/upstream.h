/* Runs tests/helpers/upstream as a child of a unit test. The server ends with the test, also when
 * the test crashes: it watches the pipe that is its standard input. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct upstream {
	pid_t pid;
	int stdin_fd;
	unsigned port;
	char url[64]; /* "http://127.0.0.1:PORT" */
};

/* Starts it with the given options (NULL at the end) and waits until it listens. */
static inline void upstream_start(struct upstream *u, const char *const *options)
{
	const char *top = getenv("top_builddir");
	char program[4096], line[128] = "", *argv[32] = {program, (char *)"--stdin"};
	posix_spawn_file_actions_t fa;
	int in[2], out[2], argc = 2;
	extern char **environ;
	FILE *f;

	snprintf(program, sizeof(program), "%s/tests/helpers/upstream", top ? top : ".");
	for (; options && *options && argc < 31; options++)
		argv[argc++] = (char *)*options;
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&fa, out[1], STDOUT_FILENO);
	ck_assert_msg(posix_spawn(&u->pid, program, &fa, NULL, argv, environ) == 0, "no %s", program);
	posix_spawn_file_actions_destroy(&fa);
	close(in[0]);
	close(out[1]);
	u->stdin_fd = in[1];
	f = fdopen(out[0], "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_msg(fgets(line, sizeof(line), f) && sscanf(line, "listening on %63s", u->url) == 1,
		"upstream does not listen");
	fclose(f);
	u->port = (unsigned)strtoul(strrchr(u->url, ':') + 1, NULL, 10);
}

/* It has to end well: its own leaks and races count. */
static inline void upstream_stop(struct upstream *u)
{
	int status = -1;

	close(u->stdin_fd);
	ck_assert_int_eq(waitpid(u->pid, &status, 0), u->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "upstream ended with %#x", status);
}

/* The body of GET /_control/..., NUL-terminated. */
static inline void upstream_control(const struct upstream *u, const char *what, char *out, size_t room)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)u->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char text[8192];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 0;
	ssize_t r;
	char *body;

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	dprintf(fd, "GET /_control/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", what);
	while (n < sizeof(text) - 1 && (r = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	text[n] = '\0';
	body = strstr(text, "\r\n\r\n");
	ck_assert_msg(body && strncmp(text, "HTTP/1.1 200", 12) == 0, "control %s: %s", what, text);
	snprintf(out, room, "%s", body + 4);
}

/* upstream_fault(&u, "path=*&kind=%s", kind) */
static inline void upstream_fault(const struct upstream *u, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void upstream_fault(const struct upstream *u, const char *fmt, ...)
{
	char query[2048], what[2100], answer[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(query, sizeof(query), fmt, ap);
	va_end(ap);
	snprintf(what, sizeof(what), "fault?%s", query);
	upstream_control(u, what, answer, sizeof(answer));
}

static inline void upstream_clear(const struct upstream *u)
{
	char answer[64];

	upstream_control(u, "clear", answer, sizeof(answer));
}

/* One number of /_control/count, "get" or so. */
static inline unsigned long long upstream_count(const struct upstream *u, const char *name)
{
	char text[1024], *line, *rest = text;
	size_t n = strlen(name);

	upstream_control(u, "count", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (strncmp(line, name, n) == 0 && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
	ck_abort_msg("upstream counts no %s", name);
	return 0;
}

/* Waits until a number is what it should become. */
static inline void upstream_until(const struct upstream *u, const char *name, unsigned long long want)
{
	for (unsigned i = 0; i < 30000; i++) {
		if (upstream_count(u, name) == want)
			return;
		poll(NULL, 0, 10);
	}
	ck_abort_msg("upstream's %s is %llu, not %llu", name, upstream_count(u, name), want);
}

/* Lets the answers go on that rules with `hold` have stopped so far. */
static inline void upstream_step(const struct upstream *u)
{
	char answer[64];

	upstream_control(u, "step", answer, sizeof(answer));
}

/* The same, and these rules stop no further ones. */
static inline void upstream_go(const struct upstream *u)
{
	char answer[64];

	upstream_control(u, "go", answer, sizeof(answer));
}

/* Opens the socket that the server listens on: TCP, Unix, or a socket that systemd passed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/listen.h"
#include "base/log.h"
#include "base/util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define UNIX_WORD "unix:"
#define BACKLOG 1024
#define PASSED_FIRST 3 /* number of the first descriptor that systemd passes */

/* ---- kinds of sockets --------------------------------------------------------------- */

bool address_is_local(const union address *a)
{
	if (a->sa.sa_family == AF_INET)
		return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
	if (a->sa.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr) &&
			       a->in6.sin6_addr.s6_addr[12] == 127);
	return a->sa.sa_family == AF_UNIX;
}

static int listen_describe(int fd, bool *local, char shown[static LISTEN_TEXT], struct err *e)
{
	char host[INET6_ADDRSTRLEN] = "";
	union address a = {0};
	socklen_t n = sizeof(a);

	if (getsockname(fd, &a.sa, &n) < 0)
		return err_set(e, -errno, "cannot listen on this descriptor: %s", err_text(errno));
	*local = address_is_local(&a);
	if (a.sa.sa_family == AF_UNIX) {
		snprintf(shown, LISTEN_TEXT, UNIX_WORD "%.*s", (int)sizeof(a.un.sun_path),
			a.un.sun_path);
	} else if (a.sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(shown, LISTEN_TEXT, "http://%s:%u", host, ntohs(a.in.sin_port));
	} else if (a.sa.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host));
		snprintf(shown, LISTEN_TEXT, "http://[%s]:%u", host, ntohs(a.in6.sin6_port));
	} else {
		return err_set(e, -EINVAL, "the socket is neither TCP nor Unix");
	}
	return 0;
}

/* ---- opening ------------------------------------------------------------------------ */

/* Takes the socket of socket activation, and unsets its variables so that no child sees them. */
static int passed(int *fd, struct err *e)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	if (!pid || !count || strtol(pid, NULL, 10) != getpid() || strcmp(count, "1") != 0)
		return err_set(e, -EINVAL, "expected exactly one socket from systemd");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*fd = PASSED_FIRST;
	if (fcntl(*fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(*fd, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, -errno, "systemd's socket: %s", err_text(errno));
	return 0;
}

/* Removes the file of a socket that no process listens on. */
static void remove_dead(const struct sockaddr_un *un)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0 && lstat(un->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		connect(fd, (const struct sockaddr *)un, sizeof(*un)) < 0 && errno == ECONNREFUSED)
		unlink(un->sun_path);
}

static int bind_socket(const struct sockaddr *a, socklen_t n, const char *word, int *out, struct err *e)
{
	_cleanup_close_ int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd >= 0 && a->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, a, n) < 0 || listen(fd, BACKLOG) < 0)
		return err_set(e, -errno, "%s: %s", word, err_text(errno));
	*out = take_fd(&fd);
	return 0;
}

static int open_unix(const char *path, int *out, struct err *e)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (!*path || strlen(path) >= sizeof(un.sun_path))
		return err_set(e, -EINVAL, "unix:%s: expected a path of 1 to %zu bytes", path,
			sizeof(un.sun_path) - 1);
	memcpy(un.sun_path, path, strlen(path));
	remove_dead(&un);
	return bind_socket((struct sockaddr *)&un, sizeof(un), path, out, e);
}

/* Splits "ADDRESS:PORT"; drops the brackets of IPv6. */
static bool split(const char *word, char host[static 128], const char **port)
{
	const char *colon = strrchr(word, ':');
	size_t n = colon ? (size_t)(colon - word) : 0;

	if (!n || n >= 128)
		return false;
	if (word[0] == '[') {
		if (word[n - 1] != ']')
			return false;
		word++;
		n -= 2;
	} else if (memchr(word, ':', n)) {
		return false;
	}
	memcpy(host, word, n);
	host[n] = '\0';
	*port = colon + 1;
	return strspn(*port, "0123456789") == strlen(*port) && **port && strlen(*port) <= 5 &&
	       strtoul(*port, NULL, 10) <= 65535;
}

static int open_tcp(const char *word, int *fd, struct err *e)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV},
			*found = NULL;
	const char *colon = strrchr(word, ':'), *port = colon ? colon + 1 : word; /* of a word without an address */
	char host[128];
	int r;

	port = *port && !port[strspn(port, "0123456789")] ? port : "8737";
	if (!split(word, host, &port))
		return err_set(e, -EINVAL,
			"%s: expected ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH or systemd; 127.0.0.1:%.5s is for "
			"clients on this machine, 0.0.0.0:%.5s for all", word, port, port);
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0)
		return err_set(e, -EINVAL, "%s: %s", word, gai_strerror(r));
	r = bind_socket(found->ai_addr, found->ai_addrlen, word, fd, e);
	freeaddrinfo(found);
	return r;
}

int listen_open(const char *word, int opened, int *fd, bool *local, char shown[static LISTEN_TEXT], struct err *e)
{
	_cleanup_close_ int got = opened ? opened : -1;
	int r;

	if (opened)
		r = 0;
	else if (strcmp(word, "systemd") == 0)
		r = passed(&got, e);
	else if (strncmp(word, UNIX_WORD, strlen(UNIX_WORD)) == 0)
		r = open_unix(word + strlen(UNIX_WORD), &got, e);
	else
		r = open_tcp(word, &got, e);
	if (r == 0)
		r = listen_describe(got, local, shown, e);
	if (r == 0)
		*fd = take_fd(&got);
	return r;
}

void listen_leave(const char *word, int fd)
{
	/* Threads that accept keep the socket open; after the shutdown, connecting fails all the same. */
	if (strcmp(word, "systemd") != 0)
		shutdown(fd, SHUT_RDWR);
	close(fd);
}

void listen_forget(const char *word)
{
	if (strncmp(word, UNIX_WORD, strlen(UNIX_WORD)) == 0)
		unlink(word + strlen(UNIX_WORD));
}

/* The sockets of libcurl's connections: the option that has to be set again for every answer, and the watch, which
 * ends floods. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "net/net-private.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The local port; 0: unknown. */
static unsigned socket_port(int fd)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return 0;
	return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
					     : ((struct sockaddr_in *)&a)->sin_port);
}

int socket_open(struct net *n, int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	struct net_socket *more;
	LOCK_SCOPE(&n->lock);

	if (fd < 0)
		return -1;
	/* A socket that is missing in the list only answers later, and is not watched. */
	more = reallocarray(n->sockets, n->n_sockets + 1, sizeof(*more));
	if (more) {
		n->sockets = more;
		n->sockets[n->n_sockets++] = (struct net_socket){.fd = fd};
	}
	return fd;
}

int socket_close(void *ctx, curl_socket_t fd)
{
	struct net *n = ctx;
	LOCK_SCOPE(&n->lock);

	for (unsigned i = 0; i < n->n_sockets; i++)
		if (n->sockets[i].fd == fd)
			n->sockets[i--] = n->sockets[--n->n_sockets];
	return close(fd);
}

bool sockets_flooded(struct net *n, unsigned port)
{
	bool flooded = false;
	LOCK_SCOPE(&n->lock);

	for (unsigned i = 0; port && i < n->n_sockets; i++)
		flooded = flooded || n->sockets[i].flooded == port;
	return flooded;
}

void sockets_acknowledge(struct net *n, unsigned port)
{
	int on = 1;

	for (unsigned i = 0; i < n->n_sockets; i++)
		if (socket_port(n->sockets[i].fd) == port)
			setsockopt(n->sockets[i].fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* ---- the watch ---------------------------------------------------------------------- */

/* Ends a connection that a server floods with bytes which are no part of an answer, such as frames of HTTP/2 without
 * content. libcurl reads a connection until nothing more is there. So a flood holds the net thread, and with it all
 * other transfers and all deadlines. A thread of its own notices a flood, and shuts the socket down. Later requests
 * to that origin use HTTP/1.1. */

/* A flood is this long, beyond so many times the bytes that answers took. The overhead of TLS and of HTTP/2 is far
 * less than the bytes of an answer, unless its frames are tiny. */
#define FLOOD_MIN (1u << 20)
#define FLOOD_RATIO 16
#define LOOK_MS 250

/* How many bytes of the connection libcurl has read. 0: the socket is not of TCP. */
static uint64_t bytes_read(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	int unread = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0 || ioctl(fd, SIOCINQ, &unread) < 0)
		return 0;
	return info.tcpi_bytes_received - MIN((uint64_t)unread, info.tcpi_bytes_received);
}

static void end_flood(struct net_socket *s, uint64_t bytes)
{
	struct sockaddr_storage a = {0};
	char ip[INET6_ADDRSTRLEN] = "?";
	socklen_t n = sizeof(a);

	if (getpeername(s->fd, (struct sockaddr *)&a, &n) == 0)
		inet_ntop(a.ss_family, a.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&a)->sin6_addr
			: (void *)&((struct sockaddr_in *)&a)->sin_addr, ip, sizeof(ip));
	s->flooded = socket_port(s->fd);
	shutdown(s->fd, SHUT_RDWR);
	log_warn("%s floods the connection: %llu MiB without content; ended the connection", ip,
		(unsigned long long)bytes >> 20);
}

/* Compares with the first look at the same round of the loop. A round usually takes less than a millisecond. */
static void look(struct net *n)
{
	uint64_t round = atomic_load(&n->rounds), took = atomic_load(&n->took);
	bool same = round == n->watched_round;

	if (!same) {
		n->watched_round = round;
		n->watched_took = took;
	}
	for (unsigned i = 0; i < n->n_sockets; i++) {
		struct net_socket *s = &n->sockets[i];
		uint64_t bytes = bytes_read(s->fd);

		if (!same)
			s->watched = bytes;
		else if (!s->flooded && bytes - s->watched > FLOOD_MIN + FLOOD_RATIO * (took - n->watched_took))
			end_flood(s, bytes - s->watched);
	}
}

void *watch_main(void *arg)
{
	struct net *n = arg;
	LOCK_SCOPE(&n->lock);

	while (!n->ended) {
		struct timespec until = clock_after(CLOCK_REALTIME, LOOK_MS);

		if (n->busy)
			pthread_cond_timedwait(&n->watch, &n->lock, &until);
		else
			pthread_cond_wait(&n->watch, &n->lock);
		look(n);
	}
	return NULL;
}

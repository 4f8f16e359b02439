/* The sockets of libcurl's connections, for the one option that has to be set again for every answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "net/net-private.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

unsigned socket_port(int fd)
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

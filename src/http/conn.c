/* The list of connections. Closes connections whose client sends nothing, or sends a request too slowly. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define BODY_BYTES_MS 4 /* bytes of a request body that extend its deadline by one millisecond */

/* MHD_get_connection_info() keeps one answer for each connection: the next call overwrites it. */
static int conn_fd(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? i->connect_fd : -1;
}

static void peer_text(struct MHD_Connection *mhd, char out[static PEER_TEXT])
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const void *sa = i ? i->client_addr : NULL;
	int family = sa ? ((const struct sockaddr *)sa)->sa_family : AF_UNSPEC;

	if (family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, out, PEER_TEXT);
	else if (family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, out, PEER_TEXT);
	else if (sa)
		snprintf(out, PEER_TEXT, "unix");
}

/* Under http->lock. MHD sees the end of the connection and closes it. */
static void shut(struct http *h, struct conn *c)
{
	c->shut = true;
	shutdown(c->fd, SHUT_RDWR);
	atomic_fetch_add(&h->counters.closed, 1);
}

/* Under http->lock. A client that holds many connections open must not keep other clients out: closes the
 * connection that has been silent for longest. */
static void make_room(struct http *h)
{
	struct conn *oldest = NULL;

	if (h->n_conns < h->most - h->most / 8)
		return;
	for (struct conn *c = h->conns; c; c = c->next)
		if (!c->busy && !c->shut && (!oldest || c->since < oldest->since))
			oldest = c;
	if (oldest)
		shut(h, oldest);
}

static struct conn *conn_new(struct loop *l, struct MHD_Connection *mhd)
{
	struct conn *c = calloc(1, sizeof(*c));
	struct http *h = l->http;
	socklen_t n = sizeof(c->here);

	if (!c)
		return NULL;
	c->loop = l;
	c->fd = conn_fd(mhd);
	c->since = clock_ms();
	peer_text(mhd, c->peer);
	getsockname(c->fd, (struct sockaddr *)&c->here, &n);
	atomic_fetch_add(&h->counters.connections, 1);
	LOCK_SCOPE(&h->lock);
	make_room(h);
	c->next = h->conns;
	if (c->next)
		c->next->at = &c->next;
	c->at = &h->conns;
	h->conns = c;
	if (h->n_conns++ == 0)
		eventfd_write(h->wake, 1);
	return c;
}

void conn_event(void *ctx, struct MHD_Connection *mhd, void **socket_context,
	enum MHD_ConnectionNotificationCode what)
{
	struct loop *l = ctx;
	struct http *h = l->http;
	struct conn *c = *socket_context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = conn_new(l, mhd);
		return;
	}
	if (!c)
		return;
	pthread_mutex_lock(&h->lock);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	h->n_conns--;
	pthread_mutex_unlock(&h->lock);
	free(c);
	*socket_context = NULL;
}

void conn_busy(struct conn *c, bool busy)
{
	if (!c)
		return;
	atomic_store(&c->busy, busy);
	atomic_store(&c->since, clock_ms());
}

void conn_asked(struct http *h, struct conn *c, bool asked)
{
	atomic_fetch_add(&h->running, asked ? 1 : -1u);
	if (c)
		atomic_store(&c->asked, asked);
}

void conn_end_idle(struct http *h)
{
	LOCK_SCOPE(&h->lock);

	for (struct conn *c = h->conns; c; c = c->next)
		if (!c->asked && !c->shut)
			shut(h, c);
}

void conn_moves(struct conn *c, size_t bytes)
{
	if (c)
		atomic_store(&c->since, MIN(atomic_load(&c->since) + bytes / BODY_BYTES_MS, clock_ms()));
}

/* The head of a request must arrive within the idle time, even if its bytes arrive one by one. A body has
 * the idle time, plus the time that it needs at 4 kB/s. */
bool conn_sweep(struct http *h)
{
	LOCK_SCOPE(&h->lock);
	uint64_t now = clock_ms();

	for (struct conn *c = h->conns; c; c = c->next)
		if (!c->busy && !c->shut && now - c->since >= h->idle_ms)
			shut(h, c);
	return h->n_conns > 0;
}

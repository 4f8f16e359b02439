/* The list of connections, the threads that read requests and send answers, and how they end. Closes connections of
 * clients that send nothing, or send a request too slowly.
 *
 * Each thread has a daemon of libmicrohttpd, and all accept from one socket. libmicrohttpd 0.9 has threads of its
 * own, but they block after exactly 128 events, until another event comes: they ask epoll for more before they handle
 * those that they have. Here only the threads wait. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_BYTES_MS 4 /* bytes of a request body that extend its deadline by one millisecond */

/* ---- connections ---------------------------------------------------------------------- */

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

static void conn_end_idle(struct http *h)
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

	/* Another thread can set `since` to a later time than `now`. */
	for (struct conn *c = h->conns; c; c = c->next)
		if (!c->busy && !c->shut && c->since + h->idle_ms <= now)
			shut(h, c);
	return h->n_conns > 0;
}

/* ---- the threads ---------------------------------------------------------------------- */

static void mhd_log(void *ctx, const char *fmt, va_list args)
{
	char text[400];

	vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug(LOG_HTTP, "%s", text);
}

/* route_find() decodes targets itself: it refuses %00, which libmicrohttpd would take for the end. */
static size_t leave_as_is(void *ctx, struct MHD_Connection *c, char *text)
{
	return strlen(text);
}

/* Refuses connections that were accepted just when the server stops. */
static enum MHD_Result may_connect(void *ctx, const struct sockaddr *addr, socklen_t n)
{
	const struct http *h = ctx;

	return atomic_load(&h->stopping) ? MHD_NO : MHD_YES;
}

/* The thread of the loop is the only one that uses the listening socket of its daemon, so it closes it. */
static void close_listener(struct loop *l)
{
	int fd = MHD_quiesce_daemon(l->daemon);

	if (fd >= 0)
		close(fd);
	l->closed = true;
}

static void *loop_main(void *arg)
{
	struct loop *l = arg;
	struct http *h = l->http;
	struct pollfd fds[] = {{.fd = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
				       .events = POLLIN},
		{.fd = l->wake, .events = POLLIN}};
	unsigned n_now, n_before = 0;
	bool again = false;
	sigset_t pipe;
	eventfd_t n;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE); /* sendfile() raises it */
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	while (!atomic_load(&l->ends)) {
		MHD_UNSIGNED_LONG_LONG ms;
		bool late = MHD_get_timeout(l->daemon, &ms) == MHD_YES;

		if (!again && (!late || ms))
			poll(fds, ARRAY_SIZE(fds), late ? (int)MIN(ms, (unsigned)INT_MAX) : -1);
		if (fds[1].revents)
			eventfd_read(l->wake, &n);
		if (atomic_load(&h->leaving) && !l->closed)
			close_listener(l);
		MHD_run(l->daemon);
		/* A daemon with as many connections as it may have accepts no more. It asks epoll for new ones
		 * only at the beginning of the run after that in which one of them ended. */
		n_now = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
		again = n_now < n_before;
		n_before = n_now;
	}
	return NULL;
}

static int loop_start(struct http *h, struct loop *l, int fd, MHD_AccessHandlerCallback handle,
	MHD_RequestCompletedCallback completed)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	l->http = h;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (own >= 0 && l->wake >= 0)
		l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
			may_connect, h, handle, h, MHD_OPTION_EXTERNAL_LOGGER, mhd_log, h,
			MHD_OPTION_LISTEN_SOCKET, own, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
			MHD_OPTION_CONNECTION_LIMIT, h->most / HTTP_THREADS, MHD_OPTION_CONNECTION_TIMEOUT,
			(unsigned)(h->idle_ms / 1000 + 1), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
			(size_t)HTTP_HEAD_MOST, MHD_OPTION_NOTIFY_COMPLETED, completed, h,
			MHD_OPTION_NOTIFY_CONNECTION, conn_event, l, MHD_OPTION_URI_LOG_CALLBACK, exchange_new, h,
			MHD_OPTION_UNESCAPE_CALLBACK, leave_as_is, h, MHD_OPTION_END);
	if (!l->daemon && own >= 0)
		close(own);
	l->runs = l->daemon && pthread_create(&l->thread, NULL, loop_main, l) == 0;
	return l->runs ? 0 : -EIO;
}

int loops_start(struct http *h, int fd, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback completed)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < HTTP_THREADS; i++)
		r = loop_start(h, &h->loops[i], fd, handle, completed);
	return r;
}

/* After h->leaving became true: each thread closes its listening socket. */
static void loops_wake(struct http *h)
{
	for (unsigned i = 0; i < HTTP_THREADS; i++)
		if (h->loops[i].runs)
			eventfd_write(h->loops[i].wake, 1);
}

void loops_stop(struct http *h)
{
	for (unsigned i = 0; i < HTTP_THREADS; i++)
		atomic_store(&h->loops[i].ends, true);
	loops_wake(h);
	for (unsigned i = 0; i < HTTP_THREADS; i++) {
		struct loop *l = &h->loops[i];

		if (l->runs)
			pthread_join(l->thread, NULL);
		if (l->daemon)
			MHD_stop_daemon(l->daemon);
		if (l->wake > 0)
			close(l->wake);
	}
}

/* ---- the end ------------------------------------------------------------------------- */

void http_drain(struct http *h)
{
	atomic_store(&h->draining, true);
}

void http_leave(struct http *h)
{
	if (atomic_exchange(&h->leaving, true))
		return;
	listen_leave(h->listen, h->listener);
	loops_wake(h);
}

void http_refuse(struct http *h)
{
	atomic_store(&h->draining, true);
	http_leave(h);
	conn_end_idle(h);
	for (struct space *s = h->public; s; s = s->next)
		events_end(s->events);
}

unsigned http_running(struct http *h)
{
	return atomic_load(&h->running);
}

uint64_t http_requests(struct http *h)
{
	return atomic_load(&h->counters.requests);
}

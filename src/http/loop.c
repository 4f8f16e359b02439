/* The threads that read requests and send answers: each has a daemon of libmicrohttpd, and all accept from one
 * socket. libmicrohttpd 0.9 has threads of its own, but they block after exactly 128 events, until another event
 * comes: they ask epoll for more before they handle those that they have. Here only the threads wait. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

void loops_wake(struct http *h)
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

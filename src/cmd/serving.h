/* Serving over HTTP, as `symfs serve` and `symfs mount --serve` both do: options in, a running server
 * out. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "cmd/app.h"

#include <signal.h>

struct http;

struct serving {
	const char *listen; /* NULL: it does not serve over HTTP */
	const char *token_file, *access_log;
	const char *connections, *idle_seconds; /* numbers; NULL */
	bool anyone;
	int socket; /* serving_open()'s, until serving_start() takes it; 0 */
	char id[40], agent[48]; /* serving_prepare()'s */
};

/* Before app_open(), whose User-Agent it writes: a server that is its own source shall notice. */
void serving_prepare(struct serving *s, struct app_args *a);

/* Opens the socket, for a process that gives up the right to before it can serve. -EINVAL, -errno. */
int serving_open(struct serving *s, struct err *e);
/* When it has not come to serving_start(). */
void serving_close(struct serving *s);

/* The server of what `app` has open; prints where it listens. -EINVAL: options; -errno. */
int serving_start(struct serving *s, struct app *app, struct http **out, struct err *e);

/* Every file that a client reads, and every connection, is a descriptor. */
void serving_raise_limits(void);

/* Blocks the signals that end a daemon or reload it, for one thread to take (`taken`). Ignores
 * those that would end it although its user does not mean that: SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ. */
void serving_signals(sigset_t *taken);

/* Starts the HTTP server of `symfs serve` and of `symfs mount --serve` from their options. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "cmd/app.h"
#include "http/http.h"

#include <signal.h>
#include <stdbool.h>

struct namespaces;

#define CLASSES_MOST 32 /* of uploaded files: sections [class "NAME"] of the configuration */

struct serving {
	const char *listen; /* NULL: no HTTP server */
	const char *token_file, *access_log;
	const char *connections, *idle_seconds; /* numbers, as text; NULL: the default */
	bool anyone; /* serve other machines without a token */
	bool upload; /* accept uploads */
	const char *audit_log; /* NULL: none */
	struct namespaces *namespaces; /* made by serving_start() */
	struct http_class classes[CLASSES_MOST]; /* read by serving_start() */
	int socket; /* opened by serving_open(), taken by serving_start(); 0: no socket */
	char id[40], agent[48]; /* set by serving_prepare() */
};

/* Call it before app_open(). Sets the User-Agent of requests to sources, by which a server recognizes its
 * own requests. */
void serving_prepare(struct serving *s, struct app_args *a);

/* Reads the value of the option `name`, a number from `least` to `most`. NULL: *out stays. 0; -EINVAL. */
int serving_number(const char *name, const char *text, unsigned least, unsigned most, unsigned *out, struct err *e);

/* Starts a server for the store and the sources of `app`, and prints where it listens. 0; -EINVAL: bad
 * options; other -errno. */
int serving_start(struct serving *s, struct app *app, struct http **out, struct err *e);

/* Reads the configuration of the namespaces again, as app_reload() does. 0, -errno. */
int serving_reload(struct serving *s, struct err *e);
/* Removes the expired files of the store of `app` and of all namespaces. Errors are logged. (waits for the disk) */
void serving_expire(struct serving *s, struct app *app);
/* Closes the namespaces, after http_stop(). */
void serving_end(struct serving *s);

/* Raises the limit of descriptors: each connection, and each file that a client reads, needs one. Reserves less
 * address space if that is limited. Call it before the first thread. 0. -EMFILE: too few descriptors. */
int serving_limits(const struct serving *s, struct err *e);

/* Blocks the signals that end or reload a daemon, so that one thread can wait for them (`taken`). Ignores
 * SIGUSR1, SIGUSR2, SIGPIPE and SIGXFSZ, which would otherwise end the daemon by accident. */
void serving_signals(sigset_t *taken);
/* Whether SIGHUP ends the daemon: a closing terminal sends it. Without a terminal, and where the caller ignores
 * SIGHUP as nohup does, SIGHUP reloads the configuration. */
bool serving_hup_ends(void);

/* ---- the service manager that started a daemon; any thread ---- */

/* Connects to the value of NOTIFY_SOCKET. Returns a descriptor; -1: no value is set, or no process listens. */
int notify_open(const char *socket);

/* Sends a message such as "READY=1". Does nothing if `fd` is -1. A message that cannot be delivered is dropped. */
void notify_send(int fd, const char *text);

/* Sends "RELOADING=1" with the time stamp that systemd requires. */
void notify_reloading(int fd);

/* The interval for WATCHDOG=1 in milliseconds: half of WATCHDOG_USEC. 0: send no WATCHDOG=1, because `usec` is
 * not set, or `pid` (WATCHDOG_PID) names another process. Either argument may be NULL. */
unsigned notify_watchdog_ms(const char *usec, const char *pid);

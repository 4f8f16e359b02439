/* Sockets to listen on. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

#define LISTEN_TEXT 160

/* "ADDRESS:PORT", "[ADDRESS]:PORT", "unix:PATH" or "systemd" (the one socket that it passed) -> a
 * socket that listens; `*local`: only this machine reaches it; `shown`: where. -EINVAL: none of
 * these; -errno. */
int listen_open(const char *word, int *fd, bool *local, char shown[static LISTEN_TEXT], struct err *e);

/* The same of a socket that listens already. */
int listen_describe(int fd, bool *local, char shown[static LISTEN_TEXT], struct err *e);

/* At the end: puts another socket under the number of one that systemd passed. libmicrohttpd shuts down
 * what it listened on, and systemd goes on listening there: its unit would fail, and nobody could start
 * the service again. Who comes now waits for the next one. */
void listen_leave(const char *word, int fd);

/* Removes the file of a socket that listen_open() made. */
void listen_forget(const char *word);

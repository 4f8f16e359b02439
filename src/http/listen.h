/* Opens the socket that the server listens on: TCP, Unix, or a socket that systemd passed. Call
 * listen_open() before other threads start. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LISTEN_TEXT 160

/* Opens "ADDRESS:PORT", "[ADDRESS]:PORT", "unix:PATH" or "systemd" (the one socket that systemd passed).
 * `opened`: the socket that an earlier call has opened for `word`, and which this call takes; 0: none.
 * `*fd` listens, and the caller owns it; `*local`: only this machine reaches it; `shown`: the address for
 * people. 0; -EINVAL: `word` has none of these forms; -errno. */
int listen_open(const char *word, int opened, int *fd, bool *local, char shown[static LISTEN_TEXT], struct err *e);

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage room;
};
/* Whether the address is one of the loopback, or of a Unix socket. */
bool address_is_local(const union address *a);

/* Before the server stops: closes the listening socket. New clients are refused at once, although threads may have
 * duplicates of the descriptor. systemd's own socket stays open: a shutdown would make the systemd unit fail. Clients
 * that connect to it now wait until systemd starts the service again. */
void listen_leave(const char *word, int fd);

/* Removes the file of a Unix socket that listen_open() made. */
void listen_forget(const char *word);

/* What the daemon of a mount gives up once it has read its configuration, when it was started with the
 * right to mount: all capabilities, and either its user or what only that user may touch. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "priv/caps.h"

#include <stdbool.h>

struct app;
struct settings;

struct rights {
	bool admin;	       /* it was started with CAP_SYS_ADMIN, which a helper is to keep */
	bool drop;	       /* the daemon gives up the rest: it never needs fusermount3, which is setuid */
	struct caps_keep keep; /* the daemon's */
	char user[64];	       /* keep.user; "": it stays the user that it was started as */
};

/* Decides, from run-as, read-all and the owner of the store, and makes the store of another user when
 * there is no such user. `helped`: another process mounts. -EINVAL: no such user; -EPERM: only root can become another; -errno. */
int rights_choose(struct rights *r, const struct settings *s, bool helped, struct err *e);

/* What the daemon writes beside the store. NULL: nothing. */
struct rights_writes {
	const char *log_path;	 /* absolute */
	const char *socket_path; /* of a Unix socket, which is removed at the end */
};

/* Gives up the rest, for good. Before threads. Nothing to do without r->drop. A daemon that stays root can
 * make no Unix sockets any more: messages to syslog and systemd take sockets that are open by then. */
int rights_give_up(const struct rights *r, const struct app *app, const struct rights_writes *writes,
	struct err *e);

/* Says in the log which directory sources the daemon cannot read any more. */
void rights_check(const struct rights *r, struct app *app);

/* Drops the rights of a mount's daemon that was started with the right to mount. After the daemon has read
 * its configuration, it gives up all capabilities that it does not need. A daemon of root also changes its
 * user; if it stays root, it loses the access to root's other files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "priv/caps.h"

#include <stdbool.h>

struct app;
struct settings;

struct rights {
	bool admin;	       /* the process was started with CAP_SYS_ADMIN, which its helper keeps */
	bool drop;	       /* the daemon gives up rights; another process mounts, so it never needs
				* fusermount3 (setuid) */
	struct caps_keep keep; /* the user and the capabilities that the daemon keeps */
	char user[64];	       /* the text of keep.user; "": the daemon does not change its user */
};

/* Decides which rights the daemon keeps, from run-as, read-all and the owner of the store. Creates a missing store
 * for the user of run-as. `helped`: another process mounts. 0; -EINVAL: no such user; -EPERM: only root
 * can become another user; other -errno. */
int rights_choose(struct rights *r, const struct settings *s, bool helped, struct err *e);

/* Files that the daemon writes besides the store. A member is NULL if there is no such file. */
struct rights_writes {
	const char *log_path;	 /* the absolute path of the log file */
	const char *socket_path; /* the path of a Unix socket, which is removed at the end */
};

/* Gives up for good all rights that `r` does not keep; does nothing if r->drop is false. Call it before there
 * are threads. A daemon that stays root can then make no Unix sockets: the sockets to syslog and systemd must be
 * open already. 0, -errno. */
int rights_give_up(const struct rights *r, const struct app *app, const struct rights_writes *writes,
	struct err *e);

/* Logs which directory sources the daemon can no longer read. A thread of its own looks at them, because a
 * directory can hang: this function does not wait. */
void rights_check(const struct rights *r, struct app *app);

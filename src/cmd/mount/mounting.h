/* Shared by the files of `symfs mount`: cmd-mount.c has the command and starts the daemon in the background,
 * cmd-mount.c reads -o, mount-daemon.c is the daemon. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"
#include "cmd/serving.h"
#include "fs/fs.h"
#include "priv/caps.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* ---- rights.c: drops the rights of a daemon that was started with the right to mount ------------- */

/* After the daemon has read its configuration, it gives up all capabilities that it does not need. A daemon of root
 * also changes its user; if it stays root, it loses the access to root's other files. */
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

/* ---- mount-daemon.c -------------------------------------------------------------------------------- */

struct mounting {
	/* from the command line and the environment */
	struct app_args args;
	struct fs_opts fs_opts;
	struct serving serving;
	/* `foreground`: the option -f. `hup_ends`: SIGHUP ends the daemon; otherwise SIGHUP reloads the
	 * configuration. */
	bool foreground, hup_ends;
	const char *log_word; /* the value of --log-file; NULL: the option is not given */
	char *log_path;	      /* `log_word` as an absolute path; NULL: no log file */
	struct buf options; /* options for libfuse, separated by commas */
	struct buf shown;   /* the operand SRC without a password */
	char *cwd;	    /* the directory that relative paths of the command line start from */
	int notify;	    /* the socket of $NOTIFY_SOCKET, from notify_open(); -1: no socket */
	unsigned watchdog_ms; /* from notify_watchdog_ms(); 0: no watchdog */

	const char *helper_socket; /* the value of --mount-helper; NULL: the option is not given */

	/* the daemon */
	struct app app;
	struct rights rights;
	struct helper *helper; /* NULL: fusermount3 mounts */
	struct fs *fs;
	struct http *http; /* NULL: the daemon does not serve HTTP */
	sigset_t signals;
	pthread_t listener;
	int up; /* the pipe that gets a byte from the daemon when the mount answers; -1: no process waits for it */
	int log_fd; /* the open file of log_path, until the mount answers; -1: no file */
	atomic_bool over;
};

/* Mounts, serves until the end, and releases what it opened. Returns an exit status. */
int mount_daemon(struct mounting *m);

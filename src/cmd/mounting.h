/* Shared by the files of `symfs mount`: cmd-mount.c has the command and starts the daemon in the background,
 * cmd-mount.c reads -o, mount-daemon.c is the daemon. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"
#include "cmd/rights.h"
#include "cmd/serving.h"
#include "fs/fs.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

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

/* mount-daemon.c. Mounts, serves until the end, and releases what it opened. Returns an exit status. */
int mount_daemon(struct mounting *m);

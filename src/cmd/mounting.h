/* What the files of `symfs mount` share: cmd-mount.c has the command and starts the daemon in the background,
 * mount-options.c reads -o, mount-daemon.c is the daemon. */
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
	bool foreground, hup_ends; /* -f; SIGHUP ends the daemon */
	const char *log_word; /* --log-file; NULL */
	char *log_path;	      /* the same, absolute */
	struct buf options; /* for libfuse */
	struct buf shown;   /* SRC without a password */
	char *cwd;	    /* the directory that relative paths of the command line start from */
	int notify;	    /* NOTIFY_SOCKET; -1 */
	unsigned watchdog_ms;

	const char *helper_socket; /* --mount-helper; NULL */

	/* the daemon */
	struct app app;
	struct rights rights;
	struct helper *helper; /* NULL: fusermount3 mounts */
	struct fs *fs;
	struct http *http; /* NULL: the daemon does not serve HTTP */
	sigset_t signals;
	pthread_t listener;
	int up; /* the daemon writes a byte here when the mount answers; -1: no process waits */
	int log_fd; /* of log_path, until the mount answers; -1 */
	atomic_bool over;
};

/* mount-options.c. Takes each `-o LIST` out of argv and joins the lists in `list`. 0, -ENOMEM, -EFBIG. */
int mount_options_collect(int *argc, char **argv, struct buf *list);
/* Parses the options of the list into `m`, and modifies the list. 0, -EINVAL, -ENOMEM; `e` has the reason. */
int mount_options_parse(struct mounting *m, char *list, struct err *e);

/* mount-daemon.c. Mounts, serves until the end, and releases what it opened. An exit status. */
int mount_daemon(struct mounting *m);

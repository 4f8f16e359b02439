/* Starts the programs of libexec as worker processes, which read hostile input: without environment, with a few
 * descriptors, and with limits. convert/, frames/, unarchive/ and unwinder/ are such programs. worker_start() may be
 * called from any thread; the functions marked (worker) are for the worker, before it starts threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_FDS_MOST 6
#define WORKER_FD_FIRST 3 /* the worker's number of the first descriptor that it is given */

/* Starts the program of libexec that argv[0] names, or `program`, a path, if it is not NULL. libexec is in the build
 * tree of this program, below its prefix, or where it was installed. The worker has the n descriptors as 3, 4, and so
 * on, and no other; -1 stands for a closed one. 0 to 2 are /dev/null, except that a sanitizer keeps 2 for its
 * reports. The caller waits for *pid. 0; -EIO: "the worker PATH did not start: ERROR". */
int worker_start(const char *program, char *const *argv, const int *fds, unsigned n, pid_t *pid, struct err *e);

/* Keeps the directory of the programs open: worker_start() then needs no access to the directories above it, which
 * may be closed to the user that the daemon becomes. Call it once, before the process has threads. */
void worker_keep_open(void);

/* Runs each program of libexec with --version, and waits, at most a minute. Calls each(), if it is not NULL, with the
 * place of each program and each of its libraries, after worker_keep_open(). 0; -EIO: `e` names the program that does
 * not start, and the way out. */
int worker_check(int (*each)(void *ctx, int dir, const char *path), void *ctx, struct err *e);

/* (worker) If the only argument is --version, prints the version and the libraries, and ends the process. */
void worker_version(int argc, char **argv);

/* (worker) Limits processor time, the size of written files, and written memory; no core files. A read-only
 * mapping does not count as memory. A sanitized build has no limit of memory. */
void worker_limit(uint64_t cpu_seconds, uint64_t file_bytes, uint64_t memory);

#define WORKER_CALLS_MOST 6

struct worker_filter {
	const char *more[WORKER_CALLS_MOST]; /* names of calls that this worker needs besides those of all workers */
	bool threads;			     /* the worker starts threads */
	bool may_lack; /* the worker continues without a filter if the system cannot set one */
	const char *done; /* what is not done without a filter, for the text: "converted" */
};

/* (worker) Sets the system-call filter (filter.h): it allows memory, signals, the clock, the open descriptors, and
 * what `w` has. *bare: the worker continues without a filter. 0; -EPERM: no filter can be set, and `e` has the
 * reason. */
int worker_filter(const struct worker_filter *w, bool *bare, struct err *e);

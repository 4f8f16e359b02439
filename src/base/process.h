/* Starts children, and waits for them with a deadline. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <sys/types.h>

/* fork() for a child that calls no exec(). -1, with errno EDEADLK: this process has several threads; in the child, a
 * lock that another thread holds would stay locked. */
pid_t process_fork(void);

/* Waits for the end of a child, at most `ms` milliseconds, and then kills it. 0; -ETIMEDOUT: the child was killed,
 * and may still end; other -errno. */
int process_wait(pid_t pid, unsigned ms, int *status);

/* Runs a program, found as the shell does, whose standard output and error are added to `out` (NULL: not wanted). Its
 * exit status; 127: it cannot be started, ended by a signal, or was killed after `ms` milliseconds. */
int process_run(const char *const *argv, unsigned ms, struct buf *out);

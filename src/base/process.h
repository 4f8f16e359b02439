/* Starts children, and waits for them with a deadline. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <sys/types.h>

/* fork() for a child that calls no exec(). -1, with errno EDEADLK: this process has several threads; in the child, a
 * lock that another thread holds would stay locked. */
pid_t process_fork(void);

/* Waits for the end of a child, at most `ms` milliseconds, and then kills it. 0; -ETIMEDOUT: the child was killed,
 * and may still end; other -errno. */
int process_wait(pid_t pid, unsigned ms, int *status);

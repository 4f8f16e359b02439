/* Small macros and functions used everywhere: arrays, cleanup, taking ownership. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* MIN() and MAX() evaluate an argument twice: pass values, not calls. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* The end of a noun in "%u file%s". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Takes over a pointer that would be cleaned up: returns its value, and sets the pointer to NULL. */
#define take(p)                                                                                    \
	__extension__({                                                                            \
		__typeof__(p) *take_from_ = &(p);                                                  \
		__typeof__(p) taken_ = *take_from_;                                                \
		*take_from_ = NULL;                                                                \
		taken_;                                                                            \
	})

static inline int take_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_unlock(pthread_mutex_t **m)
{
	if (*m)
		pthread_mutex_unlock(*m);
}

static inline pthread_mutex_t *lock_mutex(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)

/* Holds `m` until the end of the enclosing block. */
#define LOCK_SCOPE(m)                                                                              \
	_cleanup_(cleanup_unlock) __attribute__((unused)) pthread_mutex_t *scope_lock_ = lock_mutex(m)

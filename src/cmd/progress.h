/* Progress on a terminal: a line on stderr for each file under way, drawn again and again below the cursor.
 * Without a terminal these functions do nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#define PROGRESS_MOST (1u << 20) /* bytes of the lines of progress_draw() */

struct fetch;

struct progress {
	unsigned drawn; /* lines that are on the terminal now */
	/* A user's name for the download of a key. NULL, or a result of NULL: the key. */
	const char *(*name)(void *ctx, const char *key);
	void *ctx; /* of `name` */
	/* of progress_start() */
	struct fetch *fetch;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	bool running, stop; /* `stop`: under lock */
};

/* Draws each file that has been under way for half a second, and a last line `total`, unless it is "", in place of
 * the lines before. `lines` are those of fetch_downloads(). The caller erases the lines before it prints. For one
 * thread. */
void progress_draw(struct progress *p, const char *lines, const char *total);
void progress_erase(struct progress *p);

/* Draws from a thread of its own, until progress_stop(), which erases the lines; the caller prints nothing meanwhile.
 * progress_stop() does nothing if none was started. */
void progress_start(struct progress *p, struct fetch *f);
void progress_stop(struct progress *p);

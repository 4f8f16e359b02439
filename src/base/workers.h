/* A few threads for work that may block: disks, SQLite, digests. Jobs start in the order of posting; any
 * thread may post. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

struct workers;

int workers_new(struct workers **out, unsigned threads); /* 0, -errno */

/* Runs fn(ctx) once on one of the threads. 0, -ENOMEM (then it does not run). */
int workers_post(struct workers *w, void (*fn)(void *ctx), void *ctx);

unsigned workers_queued(struct workers *w); /* the number of posted jobs that wait for a thread */

void workers_free(struct workers *w); /* runs the posted jobs, then ends the threads */

/* As workers_free(), but waits at most `ms` milliseconds. False: a job does not return (its disk does not
 * answer); the threads continue, and may use the data of their jobs until the process ends. */
bool workers_end(struct workers *w, unsigned ms);

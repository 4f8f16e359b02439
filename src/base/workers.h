/* A few threads for work that may wait: disks, SQLite, digests. Jobs start in the order in
 * which they were given; any thread may give one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

struct workers;

int workers_new(struct workers **out, unsigned threads); /* 0, -errno */

/* Runs fn(ctx) once on some worker. 0, -ENOMEM (then it does not run). */
int workers_post(struct workers *w, void (*fn)(void *ctx), void *ctx);

void workers_free(struct workers *w); /* runs what was given, then ends the threads */

/* The same, for as long. False: a job does not come back (its disk does not answer); the threads go on,
 * and may touch what they were given for as long as the process lives. */
bool workers_end(struct workers *w, unsigned ms);

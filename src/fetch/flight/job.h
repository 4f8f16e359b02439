/* Jobs of a flight. A job waits on a worker for a disk (SQLite, digests, identity, directory sources), and
 * then returns to the net thread. struct job is the first member of a larger struct, which holds the input and
 * the results of the job. On the worker, a job may read the constant fields of its flight: asked, key, sources,
 * and after the phase FLIGHT_CHECK also `what` and `own`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/flight/flight.h"

struct job;

struct job_kind {
	void (*run)(struct job *j);  /* on a worker */
	void (*back)(struct job *j); /* on the net thread; the flight may have ended meanwhile */
	void (*free)(struct job *j); /* frees the larger struct, and what it owns */
};

struct job {
	struct flight *flight; /* lives as long as the job */
	const struct job_kind *kind;
	struct net_post home; /* posts back() to the net thread */
	struct net_post word; /* posts the function of job_tell() */
	bool told; /* `word` was posted; used on the worker only */
};

void job_free(struct job *j); /* the `free` of a job that owns nothing else */

/* Takes the job. 0: run(), back() and free() are called, in this order. -ENOMEM: only free() was called. (net) */
int job_start(struct job *j, struct flight *fl, const struct job_kind *kind);
/* job_start() on the threads for directories, because a directory may hang its thread. (net) */
int job_start_in_dirs(struct job *j, struct flight *fl, const struct job_kind *kind);
/* From within run(): calls fn(flight) on the net thread, before back(). Further calls do nothing. */
void job_tell(struct job *j, void (*fn)(void *flight));

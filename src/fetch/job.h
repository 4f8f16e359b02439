/* Jobs of a flight. A job waits on a worker for a disk (SQLite, digests, identity, directory sources), and
 * then comes back to the net thread. Its struct is embedded first in one that holds what the job takes
 * along and brings back. A job may read what is constant of its flight: what was asked, key, sources, and
 * after the first phase also what is looked for. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/flight.h"

struct job;

struct job_kind {
	void (*run)(struct job *j);  /* on a worker */
	void (*back)(struct job *j); /* on the net thread; the flight may have ended meanwhile */
	void (*free)(struct job *j); /* frees the struct, and what it holds */
};

struct job {
	struct flight *flight; /* lives as long as the job */
	const struct job_kind *kind;
	struct net_post home, word;
	bool told; /* `word` was posted; of the worker */
};

/* Takes the job. 0: run(), back() and free() are called, in this order. -ENOMEM: only free() was. (net) */
int job_start(struct job *j, struct flight *fl, const struct job_kind *kind);
/* The same on threads of their own, which enter directories that may hang. (net) */
int job_start_in_dirs(struct job *j, struct flight *fl, const struct job_kind *kind);
/* From within run(): calls fn(flight) on the net thread, before back(). Further calls do nothing. */
void job_tell(struct job *j, void (*fn)(void *flight));

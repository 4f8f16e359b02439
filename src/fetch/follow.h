/* Leads the making of one file (a download, a conversion) among the processes that share a store, or
 * follows the process that leads it. No call waits. Only one thread at a time may use a
 * struct follow. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct store;

#define FOLLOW_LOOK_MS 50 /* milliseconds between two calls of follow_look() */

struct follow {
	bool leads;	 /* this process holds the lock; the caller calls follow_beat() every FLIGHTS_BEAT_MS */
	bool alone;	 /* the process that leads has stalled, so this process does the same work */
	bool beat;	 /* the last heartbeat (it alternates) that was sent or seen */
	unsigned silent; /* looks since `beat` changed */
};

/* Tries to lead. 0: this process is to do the work, as leader or alone. -EAGAIN: another process makes progress;
 * look again after FOLLOW_LOOK_MS. Others: errors of the store's lock file. A leader counts as stalled after
 * `silence_ms` without a heartbeat; 0: FLIGHTS_SILENCE_MS. */
int follow_look(struct follow *w, struct store *s, uint64_t number, unsigned silence_ms);
void follow_beat(struct follow *w, struct store *s, uint64_t number); /* sends a leader's heartbeat */
void follow_end(struct follow *w, struct store *s, uint64_t number); /* releases the lock, if this process holds it */

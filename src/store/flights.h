/* Single flight: one download of an artifact at a time, across the processes that share a store. A flight has
 * a number (key_number()). The process that downloads is its leader, and holds a lock on one byte of
 * DIR/flights; other processes may follow the leader. Locks belong to an open file (OFD locks), so kill -9
 * frees them. No call waits. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/store.h"

/* Tries to lead a flight. 0: this process leads it; -EAGAIN: another process leads it; -errno. Two requests
 * of one process both succeed, so the caller must join them. */
int flights_lead(struct store *s, uint64_t number);

/* The leader announces that the artifact exists, before its bytes are complete. */
void flights_say_found(struct store *s, uint64_t number);
bool flights_found(struct store *s, uint64_t number); /* whether another process announced it */

/* A follower asks for the whole artifact, so that the leader does not stop when it knows that the artifact
 * exists. `want` = false takes one such request back. */
void flights_want(struct store *s, uint64_t number, bool want);
bool flights_wanted(struct store *s, uint64_t number); /* whether another process asks for it */

/* The heartbeat of a leader: a lock that the leader takes (`high`) and releases in turn, as long as it makes
 * progress. */
#define FLIGHTS_BEAT_MS 500	/* the leader takes or releases the lock this often */
#define FLIGHTS_SILENCE_MS 5000 /* followers leave a leader whose heartbeat does not change for this long */
void flights_beat(struct store *s, uint64_t number, bool high);
bool flights_beats(struct store *s, uint64_t number); /* whether another process holds the lock of the
							 heartbeat */

void flights_drop(struct store *s, uint64_t number); /* releases all locks of a leader */

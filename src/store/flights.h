/* One download at a time of one artifact, across the processes that share a store. A flight is
 * a number (key_number()); its leader holds a lock on one byte of DIR/flights. Locks belong to
 * an open file (OFD locks), so kill -9 frees them. No call waits. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/store.h"

/* 0: this process leads now. -EAGAIN: another process does. -errno. (The caller joins two
 * requests of one process.) */
int flights_lead(struct store *s, uint64_t number);

/* The leader says that the artifact exists, before its bytes are whole. */
void flights_say_found(struct store *s, uint64_t number);
bool flights_found(struct store *s, uint64_t number); /* does another process say so? */

/* A follower says that it wants the whole, so that the leader does not stop at "it exists". */
void flights_want(struct store *s, uint64_t number, bool want);
bool flights_wanted(struct store *s, uint64_t number); /* does another process want it? */

/* The heartbeat of a leader: it changes as long as the leader makes progress. */
#define FLIGHTS_BEAT_MS 500	/* the leader changes it this often */
#define FLIGHTS_SILENCE_MS 5000 /* a leader whose heartbeat stands still this long is not followed */
void flights_beat(struct store *s, uint64_t number, bool high);
bool flights_beats(struct store *s, uint64_t number); /* what another process says now */

void flights_drop(struct store *s, uint64_t number); /* releases all locks of a leader */

/* A breaker for each host: a dead server costs one bounded wait, once. Closed: it is asked.
 * Open: it is not, until a time. Then half open: one request tries, the others are spared until
 * that one is answered. Time is passed in (clock_ms()). Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "source/source.h"

struct breakers;

int breakers_new(struct breakers **out, unsigned open_ms);
void breakers_free(struct breakers *b);

/* May the host be asked now? True also makes this request the one that tries, when it is half
 * open. With false, `why` says what it is down with. */
bool breaker_may(struct breakers *b, const char *origin, uint64_t now, char why[static 240]);

/* What to answer in place of a host that may not be asked: -EREMOTEIO when it was reached and its last
 * answers were useless, else -EHOSTUNREACH. */
int breaker_error(struct breakers *b, const char *origin);

/* The outcome of a request that was allowed. `hold_ms` > 0: the server named a time itself. A host
 * that answered within the last five minutes is down at the second silence in a row only. */
void breaker_tell(struct breakers *b, const char *origin, uint64_t now, const struct judgement *j,
	uint64_t hold_ms);
/* The allowed request ended before its outcome was known: another one may try. */
void breaker_unheard(struct breakers *b, const char *origin);

/* Has the host answered anything at all since then? Then it is not dead, whatever one request
 * waits for. */
bool breaker_alive(struct breakers *b, const char *origin, uint64_t since);

/* Has the host not failed since its last good answer? Then a failure may be a bad moment. */
bool breaker_well(struct breakers *b, const char *origin);

/* The host was outrun: it held back a later source that had the file as long as it may, and gave
 * no answer. Until it gives one, it does not hold other sources back. */
void breaker_outrun(struct breakers *b, const char *origin);
bool breaker_may_hold(struct breakers *b, const char *origin);

/* "ok", "failing, retry in 12 s: connection timed out", "failing, retrying now: ...". Changes nothing. */
void breaker_text(struct breakers *b, const char *origin, uint64_t now, char out[static 240]);

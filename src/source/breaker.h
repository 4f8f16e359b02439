/* A breaker for each host, so that a dead server costs one bounded wait, once. A host is "ok" or
 * "failing". While a host is ok, symfs sends requests to it. A failing host gets no request until its
 * retry time. After that time one request tries the host; other requests are refused until that request
 * has its outcome. Callers pass in the time (clock_ms()). Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "source/source.h"

struct breakers;

int breakers_new(struct breakers **out, unsigned open_ms);
void breakers_free(struct breakers *b);

/* Whether the host may be asked now. If the host is failing, true makes this request the one that tries
 * it. If false, `why` has the host's failure. */
bool breaker_may(struct breakers *b, const char *origin, uint64_t now, char why[static 240]);

/* The error in place of the answer of a host that may not be asked: -EREMOTEIO if the host was reached
 * and its last answers were useless, else -EHOSTUNREACH. */
int breaker_error(struct breakers *b, const char *origin);

/* Reports the outcome of an allowed request. `hold_ms` > 0: the server named the delay. If a host
 * answered within the last five minutes, it counts as failing only after two stalled requests in a row. */
void breaker_tell(struct breakers *b, const char *origin, uint64_t now, const struct judgement *j,
	uint64_t hold_ms);
/* The allowed request ended before its outcome was known: another request may try. */
void breaker_unheard(struct breakers *b, const char *origin);

/* Whether the host has answered any request since that time. If so, the host is not dead, even if one
 * request still waits. */
bool breaker_alive(struct breakers *b, const char *origin, uint64_t since);

/* Whether the host has not failed since its last good answer. If so, a failure may be transient. */
bool breaker_well(struct breakers *b, const char *origin);

/* The host held back a later source for the whole grace period, and did not answer. Until the host
 * answers, it does not hold back other sources. */
void breaker_outrun(struct breakers *b, const char *origin);
bool breaker_may_hold(struct breakers *b, const char *origin);

/* "ok", "failing, retry in 12 s: connection timed out", "failing, retrying now: ...". Changes nothing. */
void breaker_text(struct breakers *b, const char *origin, uint64_t now, char out[static 240]);

/* A circuit breaker for each host, so that a dead server costs only one bounded wait. A host is "ok" or
 * "failing". While a host is ok, symfs sends requests to it. A failing host gets no request until its retry
 * time. After that time one request tries the host; other requests are refused until the outcome of that
 * request is known. Callers pass in the time (clock_ms()). Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "source/source.h"

struct breakers;

/* `open_ms`: the longest time until a failing host is tried again, unless its server asks for a longer
 * delay. 0, -ENOMEM. */
int breakers_new(struct breakers **out, unsigned open_ms);
void breakers_free(struct breakers *b);

/* Whether a request may go to the host now. If the host is failing and the result is true, this request is
 * the one that tries the host. If false, `why` has the host's failure. */
bool breaker_may(struct breakers *b, const char *origin, uint64_t now, char why[static 240]);

/* The error of a request that breaker_may() refused: -EREMOTEIO if the host was reached and its last answer
 * was useless, else -EHOSTUNREACH. */
int breaker_error(struct breakers *b, const char *origin);

/* Reports the outcome of an allowed request. `hold_ms` > 0: the server asked for that delay (Retry-After).
 * If a host answered within the last five minutes, it counts as failing only after two stalled requests in a
 * row. A daemon's log has one line when a host begins to fail, at most one a minute, and one when it answers
 * again. */
void breaker_tell(struct breakers *b, const char *origin, uint64_t now, const struct judgement *j,
	uint64_t hold_ms);
/* Reports that an allowed request ended without an outcome, so another request may try the host. */
void breaker_unheard(struct breakers *b, const char *origin);

/* Whether the host has answered any request since that time (clock_ms()). If so, the host is not dead, even
 * if one request still waits. */
bool breaker_alive(struct breakers *b, const char *origin, uint64_t since);

/* Whether the host has not failed since its last good answer. If so, a failure may be transient. */
bool breaker_well(struct breakers *b, const char *origin);

/* Records that the host held back a later source for the whole grace period and did not answer. Until the
 * host answers, breaker_may_hold() is false: the host does not hold back other sources. */
void breaker_outrun(struct breakers *b, const char *origin);
bool breaker_may_hold(struct breakers *b, const char *origin);

/* Describes the host's state: "ok", "refused: HTTP 401: it wants a token or password; ...", "failing, retry in 12 s:
 * HTTP 503 (since 2027-01-31T20:14:05Z)", "failing, retrying now: ...". */
void breaker_text(struct breakers *b, const char *origin, uint64_t now, char out[static 240]);

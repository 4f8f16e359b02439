/* The speed at which a host answers and sends, measured on the transfers that use it anyway. struct speed
 * is a plain value with pure functions; net/ has one struct for each origin. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values that an unmeasured host is assumed to have. */
#define SPEED_ROUND_US 20000	/* microseconds */
#define SPEED_RATE 50000000	/* bytes in a second */

struct speed {
	double round_us; /* from a request to the first byte of its answer, smoothed; 0: not measured */
	double rate;	 /* bytes in a second, of all transfers together, smoothed; 0: not measured */
	double least;	 /* a lower bound of `rate`, also from bytes that came too quickly to measure */

	/* the current measurement of the rate */
	unsigned flowing;  /* transfers whose bodies come */
	uint64_t since, n; /* the time of its beginning, in microseconds, and the bytes since */
	double before;	   /* the rate of the previous measurement; 0: none since bodies began to come */
};

/* The first byte of an answer came `us` microseconds after its request was sent. */
void speed_answered(struct speed *s, double us);
/* speed_begin(): a body begins to come, or continues after a pause. speed_skip(): bytes of a body came that
 * do not count, because they had waited. speed_came(): n bytes of a body came. speed_end(): a body ended,
 * or is paused. `now` is in microseconds. */
void speed_begin(struct speed *s, uint64_t now);
void speed_skip(struct speed *s, uint64_t now);
void speed_came(struct speed *s, uint64_t now, size_t n);
void speed_end(struct speed *s);

/* Whether a measurement of the rate has ended. If not, a transfer whose body comes may soon complete the
 * first. */
bool speed_is_known(const struct speed *s);
/* The measured values, or else SPEED_ROUND_US and at least SPEED_RATE. Never 0. */
double speed_round_us(const struct speed *s);
double speed_rate(const struct speed *s);

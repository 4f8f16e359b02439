/* The speed at which a host answers and sends, measured on the transfers that use it anyway. struct speed
 * is a plain value with pure functions; net/ has one struct for each origin. The functions
 * are inline, so that tests measure without a network. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values that an unmeasured host is assumed to have. */
#define SPEED_ROUND_US 20000	/* microseconds */
#define SPEED_RATE 50000000	/* bytes in a second */

#define SPEED_WINDOW (96u << 10) /* the least number of bytes of a measurement */
#define SPEED_WINDOW_US 1500 /* the least time of a measurement: the scheduler disturbs a shorter one */
#define SPEED_LEAST_US 1000.0 /* a shorter time is not precise, and counts as this time */
#define SPEED_SMOOTH 4 /* a new answer time has the weight 1/SPEED_SMOOTH in the average */
#define SPEED_GROWTH 1.5 /* a rate that grows by more than this factor is still growing (TCP's slow start) */
#define SPEED_ROUND_MOST_US 10e6 /* a longer answer time is ignored: the server was preparing the file */

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
static inline void speed_answered(struct speed *s, double us)
{
	if (us <= 0 || us > SPEED_ROUND_MOST_US)
		return;
	s->round_us = s->round_us > 0 ? s->round_us + (us - s->round_us) / SPEED_SMOOTH : us;
}

static inline void speed_from(struct speed *s, uint64_t now)
{
	s->since = now;
	s->n = 0;
}

/* A body begins to come, or continues after a pause. `now` is in microseconds. */
static inline void speed_begin(struct speed *s, uint64_t now)
{
	if (s->flowing++)
		return;
	s->before = 0;
	speed_from(s, now);
}

/* Bytes of a body came that do not count, because they had waited. */
static inline void speed_skip(struct speed *s, uint64_t now)
{
	if (!s->n)
		s->since = now;
}

/* A body ended, or is paused. */
static inline void speed_end(struct speed *s)
{
	if (s->flowing)
		s->flowing--;
}

/* While the rate grows, a measurement is only a lower bound. */
static inline void speed_measured(struct speed *s, double rate)
{
	bool grows = s->before <= 0 || rate > s->before * SPEED_GROWTH;

	s->before = rate;
	if (!grows)
		s->rate = s->rate > 0 ? (s->rate + rate) / 2 : rate;
	else if (s->rate > 0 && rate > s->rate)
		s->rate = rate;
}

/* n bytes of a body came. */
static inline void speed_came(struct speed *s, uint64_t now, size_t n)
{
	double us = now > s->since ? (double)(now - s->since) : 0;

	s->n += n;
	if (!s->flowing || s->n < SPEED_WINDOW)
		return;
	s->least = MAX(s->least, (double)s->n * 1e6 / MAX(us, SPEED_LEAST_US));
	if (us < SPEED_WINDOW_US)
		return;
	speed_measured(s, (double)s->n * 1e6 / us);
	speed_from(s, now);
}

/* Whether a measurement of the rate has ended. If not, a transfer whose body comes may soon complete the first. */
static inline bool speed_is_known(const struct speed *s)
{
	return s->rate > 0 || s->before > 0;
}

/* The measured values, or else SPEED_ROUND_US and at least SPEED_RATE. Never 0. */
static inline double speed_round_us(const struct speed *s)
{
	return s->round_us > 0 ? s->round_us : SPEED_ROUND_US;
}

static inline double speed_rate(const struct speed *s)
{
	return s->rate > 0 ? s->rate : MAX(s->least, SPEED_RATE);
}

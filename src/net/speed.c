/* Measures a host's round trip and rate: smooths answer times, and counts bytes only while bodies come. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/speed.h"
#include "base/util.h"

#define WINDOW (96u << 10)  /* the least number of bytes of a measurement */
#define WINDOW_US 1500	    /* the least time of a measurement: the scheduler disturbs a shorter one */
#define LEAST_US 1000.0	    /* a shorter time is not precise, and counts as this time */
#define SMOOTH 4	    /* a new answer time has the weight 1/SMOOTH in the average */
#define GROWTH 1.5	    /* a rate that grows by more than this factor is still growing (TCP's slow start) */
#define ROUND_MOST_US 10e6  /* a longer answer time is ignored: the server was preparing the file */

void speed_answered(struct speed *s, double us)
{
	if (us <= 0 || us > ROUND_MOST_US)
		return;
	s->round_us = s->round_us > 0 ? s->round_us + (us - s->round_us) / SMOOTH : us;
}

static void measure_from(struct speed *s, uint64_t now)
{
	s->since = now;
	s->n = 0;
}

void speed_begin(struct speed *s, uint64_t now)
{
	if (s->flowing++)
		return;
	s->before = 0;
	measure_from(s, now);
}

void speed_skip(struct speed *s, uint64_t now)
{
	if (!s->n)
		s->since = now;
}

void speed_end(struct speed *s)
{
	if (s->flowing)
		s->flowing--;
}

/* While the rate grows, a measurement is only a lower bound. */
static void measured(struct speed *s, double rate)
{
	bool grows = s->before <= 0 || rate > s->before * GROWTH;

	s->before = rate;
	if (!grows)
		s->rate = s->rate > 0 ? (s->rate + rate) / 2 : rate;
	else if (s->rate > 0 && rate > s->rate)
		s->rate = rate;
}

void speed_came(struct speed *s, uint64_t now, size_t n)
{
	double us = now > s->since ? (double)(now - s->since) : 0;

	s->n += n;
	if (!s->flowing || s->n < WINDOW)
		return;
	s->least = MAX(s->least, (double)s->n * 1e6 / MAX(us, LEAST_US));
	if (us < WINDOW_US)
		return;
	measured(s, (double)s->n * 1e6 / us);
	measure_from(s, now);
}

double speed_round_us(const struct speed *s)
{
	return s->round_us > 0 ? s->round_us : SPEED_ROUND_US;
}

bool speed_is_known(const struct speed *s)
{
	return s->rate > 0 || s->before > 0;
}

double speed_rate(const struct speed *s)
{
	return s->rate > 0 ? s->rate : MAX(s->least, SPEED_RATE);
}

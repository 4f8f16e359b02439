/* Measures the speed of each origin by the transfers that use it: smooths answer times, and counts bytes only while
 * bodies come. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "net/speed.h"
#include "net/transfer-private.h"

#include <string.h>

/* ---- the measurements of one host --------------------------------------------------- */

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

/* ---- the hosts of a net --------------------------------------------------------------- */

static uint64_t now_us(void)
{
	return (uint64_t)(clock_seconds() * 1e6);
}

static uint64_t host_hash(const char *origin)
{
	return hash_mix(origin, strlen(origin)) | 1;
}

static unsigned host_slot(uint64_t origin)
{
	return origin / 2 % SPEEDS;
}

/* Returns the measurements of the transfer's origin. A new origin replaces the old origin in its slot.
 * NULL: a transfer of the old origin is being measured. */
static struct speed *host_speed(struct transfer *t)
{
	uint64_t origin = host_hash(t->first.origin);
	struct net_host *h = &t->net->hosts[host_slot(origin)];

	if (h->origin != origin) {
		if (h->speed.flowing)
			return NULL;
		*h = (struct net_host){.origin = origin};
	}
	return &h->speed;
}

/* The microseconds that this hop took, without the time of connecting and of waiting for a connection. */
static double hop_us(const struct transfer *t)
{
	curl_off_t sent = 0, came = 0;

	curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
	curl_easy_getinfo(t->easy, CURLINFO_STARTTRANSFER_TIME_T, &came);
	return came > sent ? (double)(came - sent) : 0;
}

void host_answered(struct transfer *t, bool over)
{
	struct speed *s = over ? host_speed(t) : NULL;

	t->hops_us += hop_us(t);
	if (s)
		speed_answered(s, t->hops_us);
}

/* The bytes of the first round of the loop may have waited in the socket for any time, so they only begin the
 * measurement. */
void host_came(struct transfer *t, size_t n)
{
	uint64_t now = now_us();

	if (!t->flows) {
		t->flows = host_speed(t);
		t->flows_round = t->net->rounds;
		if (t->flows)
			speed_begin(t->flows, now);
	} else if (t->flows_round == t->net->rounds) {
		speed_skip(t->flows, now);
	} else {
		speed_came(t->flows, now, n);
	}
}

void host_rests(struct transfer *t)
{
	if (t->flows)
		speed_end(t->flows);
	t->flows = NULL;
}

struct speed net_speed(const struct net *n, const char *origin)
{
	uint64_t hash = host_hash(origin);
	const struct net_host *h = &n->hosts[host_slot(hash)];

	return h->origin == hash ? h->speed : (struct speed){0};
}

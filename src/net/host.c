/* Measures the speed of each origin by the transfers that use it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "net/transfer-private.h"

#include <string.h>

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

/* The transfers of one origin: how many run at once, which transfer is next, and when a transfer should yield.
 * Measures the speed of each origin by the transfers that use it anyway. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "net/transfer-private.h"

#include <string.h>

/* The time slices: a transfer yields its slot to an equally urgent transfer after SLOT_MS, and to a more
 * urgent transfer after LEAST_SLOT_MS. */
#define SLOT_MS 1000
#define LEAST_SLOT_MS 250
#define FIRST_WAIT_MS 500 /* a request of rank NET_FIRST waits this long before it may use an extra
			     slot */

static uint64_t origin_hash(const char *origin)
{
	return hash_mix(origin, strlen(origin)) | 1;
}

static unsigned origin_slot(const char *origin)
{
	return origin_hash(origin) / 2 % ORIGINS;
}

/* The number of slots at the origin of the transfer; 0: as many as libcurl allows. */
static unsigned slots(const struct transfer *t)
{
	struct net *n = t->net;

	if (t->connections && peer_is_home(t))
		return t->connections;
	return n->many[origin_slot(t->origin)] == origin_hash(t->origin) ? 0 : n->host_usual;
}

static bool same_origin(const struct transfer *a, const struct transfer *b)
{
	return strcmp(a->origin, b->origin) == 0;
}

static unsigned urgency(enum net_rank rank)
{
	return rank == NET_FIRST ? 2 : rank == NET_WANTED;
}

/* Requests of rank NET_FIRST may use a few extra slots, so that slow bodies do not keep all of them
 * waiting. */
static bool may_exceed(const struct transfer *t, unsigned running)
{
	return t->rank == NET_FIRST && t->waiting && !(t->connections && peer_is_home(t)) &&
		running < 2 * t->net->host_usual && clock_ms() - t->slot_since >= FIRST_WAIT_MS;
}

static bool may_run(const struct transfer *t)
{
	unsigned most = slots(t), running = 0;

	if (!most)
		return true;
	for (const struct transfer *o = t->net->transfers; o; o = o->next)
		running += o->added && same_origin(o, t);
	return running < most || may_exceed(t, running);
}

/* Whether a transfer that is at least as urgent already waits. */
static bool is_behind(const struct transfer *t)
{
	for (const struct transfer *o = t->net->waiting ? t->net->transfers : NULL; o; o = o->next)
		if (o != t && o->waiting && !o->cancelled && same_origin(o, t) &&
			urgency(o->rank) >= urgency(t->rank))
			return true;
	return false;
}

/* Picks the most urgent transfer, and the oldest of several equally urgent transfers. The list has the
 * newest transfer first. */
struct transfer *queue_next(struct net *n)
{
	struct transfer *next = NULL;

	for (struct transfer *t = n->waiting ? n->transfers : NULL; t; t = t->next)
		if (t->waiting && !t->cancelled && (!next || urgency(t->rank) >= urgency(next->rank)) &&
			may_run(t))
			next = t;
	return next;
}

static void wake_loop(void *ctx)
{
	/* Nothing to do: the timer only wakes the loop, which then calls transfers_admit(). */
}

void queue_wait(struct transfer *t)
{
	t->waiting = true;
	t->slot_since = clock_ms();
	t->net->waiting++;
	if (t->rank == NET_FIRST)
		net_timer_set(t->net, &t->clock, FIRST_WAIT_MS, wake_loop, t);
}

bool transfer_is_queued(const struct transfer *t)
{
	return t->waiting || (!t->added && !t->cancelled);
}

uint64_t transfer_its_turn(const struct transfer *t)
{
	return t->waited && t->added ? t->slot_since : 0;
}

void transfer_set_rank(struct transfer *t, enum net_rank rank)
{
	t->rank = rank;
}

bool transfer_should_yield(struct transfer *t)
{
	uint64_t now = clock_ms(), ran = now - t->slot_since;
	struct transfer *oldest = NULL;

	if (!t->net->waiting || !slots(t) || ran < LEAST_SLOT_MS)
		return false;
	for (struct transfer *o = t->net->transfers; o; o = o->next) {
		if (!o->waiting || o->cancelled || o->promised || !same_origin(o, t))
			continue;
		if (urgency(o->rank) > urgency(t->rank) || (o->rank == t->rank && ran >= SLOT_MS))
			oldest = o;
	}
	if (oldest)
		oldest->promised = true;
	return oldest != NULL;
}

void queue_note_http2(struct transfer *t)
{
	t->net->many[origin_slot(t->origin)] = origin_hash(t->origin);
}

void queue_note_flood(struct transfer *t)
{
	t->net->many[origin_slot(t->origin)] = 0;
	t->net->flooding[origin_slot(t->origin)] = origin_hash(t->origin);
}

bool queue_has_flooded(const struct transfer *t)
{
	return t->net->flooding[origin_slot(t->origin)] == origin_hash(t->origin);
}

bool queue_may_start(const struct transfer *t)
{
	return may_run(t) && !is_behind(t);
}

void queue_leave(struct transfer *t)
{
	t->net->waiting -= t->waiting;
	t->waiting = false;
}

/* ---- speeds ------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
	return (uint64_t)(clock_seconds() * 1e6);
}

/* Returns the measurements of the transfer's origin. A new origin replaces the old origin in its slot.
 * NULL: a transfer of the old origin is being measured. */
static struct speed *host_speed(struct transfer *t)
{
	uint64_t origin = origin_hash(t->first.origin);
	struct net_host *h = &t->net->hosts[origin_slot(t->first.origin)];

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
	const struct net_host *h = &n->hosts[origin_slot(origin)];

	return h->origin == origin_hash(origin) ? h->speed : (struct speed){0};
}

/* Starts and ends a fetch, replaces its sources, and answers requests at once from the store and remembered
 * misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"
#include "fetch/local/folded.h"
#include "config.h"

#include <stdio.h>
#include <string.h>

#define STAT(field, text) {#field, text, offsetof(struct fetch_stats, field)}
const struct fetch_stat_row fetch_stat_rows[] = {
	STAT(lookups, "questions whether an artifact exists"),
	STAT(opens, "questions for the whole of an artifact"),
	STAT(hits, "answered from the store at once"),
	STAT(remembered, "answered from remembered misses at once"),
	STAT(misses, "answered: no source has it"),
	STAT(flights, "downloads and look-ups begun"),
	STAT(joined, "requests that joined a download under way"),
	STAT(requests, "requests sent to sources"),
	STAT(bytes, "bytes received from sources"),
	STAT(published, "artifacts stored"),
	STAT(mismatches, "wrong files that sources sent"),
	STAT(failures, "downloads and look-ups that ended in an error"),
	STAT(timeouts, "lookup deadlines that passed"),
	STAT(cancelled, "downloads whose last caller left"),
	STAT(listed_dirs, "directories of directory sources that were read for listings"),
	{0},
};

/* A reload may follow the repair of a source that sent a wrong file: that source is asked at once. */
static void forget_mismatches(void *ctx)
{
	struct fetch *f = ctx;

	memset(f->mismatches, 0, sizeof(f->mismatches));
	memset(f->absents, 0, sizeof(f->absents));
}

void fetch_set_sources(struct fetch *f, struct sources *so)
{
	struct sources *old;

	trees_set(f, so);
	pthread_mutex_lock(&f->lock);
	old = f->sources;
	f->sources = so;
	f->loops_logged = 0;
	pthread_mutex_unlock(&f->lock);
	net_call(f->net, forget_mismatches, f);
	symstore_renew(f);
	sources_unref(old);
}

struct store *fetch_store(struct fetch *f)
{
	return f->store;
}

const struct fetch_opts *fetch_opts(const struct fetch *f)
{
	return &f->opts;
}

atomic_uint *fetch_makers(struct fetch *f)
{
	return &f->makers;
}

struct fetch_stats *fetch_stats(struct fetch *f)
{
	return &f->stats;
}

/* ---- begin and end ------------------------------------------------------------------ */

static int fetch_init(struct fetch *f, const struct fetch_opts *o, struct err *e)
{
	char agent[160] = PACKAGE_NAME "/" PACKAGE_VERSION;
	struct net_opts no = {.user_agent = agent};
	int r;

	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->trees_lock, NULL);
	pthread_mutex_init(&f->members_lock, NULL);
	pthread_cond_init(&f->members_free, NULL);
	pthread_mutex_init(&f->embedded_lock, NULL);
	pthread_mutex_init(&f->names_lock, NULL);
	pthread_mutex_init(&f->recall_lock, NULL);
	f->opts = *o;
	f->later_note = later_note;
	f->cut = &phase_cut;
	f->opts.agent = NULL;
	if (o->agent)
		snprintf(agent, sizeof(agent), PACKAGE_NAME "/" PACKAGE_VERSION " %.100s", o->agent);
	r = breakers_new(&f->breakers, o->breaker_ms);
	if (r == 0)
		r = folded_new(&f->folded);
	if (r == 0)
		r = workers_new(&f->workers, 4);
	if (r < 0)
		return err_set(e, r, "cannot start worker threads: %s", err_text(r));
	return net_start(&f->net, &no, e);
}

int fetch_new(struct fetch **out, struct store *st, struct sources *so, const struct fetch_opts *o,
	struct err *e)
{
	struct fetch *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		sources_unref(so);
		return err_set(e, -ENOMEM, "out of memory");
	}
	f->store = st;
	f->sources = so;
	r = fetch_init(f, o, e);
	if (r < 0) {
		fetch_free(f);
		return r;
	}
	trees_set(f, so);
	*out = f;
	return 0;
}

static void close_flights(void *ctx)
{
	struct fetch *f = ctx;

	f->closing = true;
	laters_stop(f);
	while (f->flights) {
		struct fetched a = {.r = -EINTR, .key = f->flights->key, .why = "symfs is ending"};

		flight_finish(f->flights, &a);
	}
	symstore_stop(f);
}

#define LAST_LOOK_MS 2000

static void no_op(void *ctx)
{
}

int fetch_free(struct fetch *f)
{
	if (!f)
		return 0;
	store_hurry(f->store);
	if (f->net)
		net_call(f->net, close_flights, f);
	if (f->store)
		miss_counts_flush(f);
	workers_free(f->workers);	/* afterwards all their results are posted to the net thread */
	if (!workers_end(f->lookers, LAST_LOOK_MS)) {
		log_warn("a directory does not answer; exiting all the same");
		return -EBUSY;
	}
	if (f->net) {
		net_call(f->net, no_op, NULL); /* afterwards the net thread has taken all these results */
		net_stop(f->net);
	}
	trees_set(f, NULL);
	breakers_free(f->breakers);
	sources_unref(f->sources);
	symstore_free(f);
	taught_free(f);
	folded_free(f->folded);
	pthread_mutex_destroy(&f->trees_lock);
	pthread_mutex_destroy(&f->members_lock);
	pthread_cond_destroy(&f->members_free);
	pthread_mutex_destroy(&f->embedded_lock);
	pthread_mutex_destroy(&f->names_lock);
	tree_names_release(f);
	pthread_mutex_destroy(&f->recall_lock);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return 0;
}

/* ---- answers at once ---------------------------------------------------------------- */

/* The remembered misses of a file that is not stored. */
struct missing {
	bool named;	 /* a source has a name for the artifact */
	int64_t seconds; /* how long the remembered misses still count */
};

/* Whether remembered misses alone show that no source has the artifact. */
static bool known_missing(struct fetch *f, const struct sources *so, const struct artifact *a,
	const struct key *k, struct missing *m)
{
	int64_t now = clock_wall();

	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		char room[MISS_NAME];
		int64_t until = s->kind->local ? 0 : store_miss_until(f->store, k, miss_name(s, a, room), s->memory);

		if (until <= now && !fetch_can_name_by(s, a) && !local_tells_ids(s, a) && !embedded_may_come(f, s, k))
			continue; /* it has no name for the file */
		m->named = true;
		if (until <= now)
			return false;
		m->seconds = MIN(m->seconds, until - now);
	}
	return true;
}

/* Where to look for a better file than the stored one. */
enum better_from { BETTER_NOWHERE, BETTER_ANYWHERE };

/* Answers with the stored file. 0. -ENOENT: it is not stored. -EAGAIN: directories or servers may have a better
 * file, and must be asked first; or the store is in trouble, which the flight reports. */
static int try_stored(struct fetch *f, const struct sources *so, enum better_from from, const struct artifact *a,
	const struct key *k, struct fetched *out)
{
	struct key main;
	struct blob *b;
	int r = learn_find(f, k, &b, &main);

	if (r < 0)
		return r == -ENOENT ? r : -EAGAIN; /* no error of the store is a miss */
	if (from == BETTER_ANYWHERE && (local_may_improve(so, a, b) || better_may_exist(f, so, k, b))) {
		blob_unref(b);
		return -EAGAIN;
	}
	*out = (struct fetched){.key = main, .blob = b, .size = blob_size(b), .why = "",
		.was = was_find(f, blob_number(b))};
	atomic_fetch_add(&f->stats.hits, 1);
	return 0;
}

/* 0: *out is the answer. 1: remembered misses of `k` show that no source has the file. -EAGAIN: sources must be
 * asked. */
static int try_one(struct fetch *f, const struct sources *so, const struct artifact *asked,
	const struct key *k, enum better_from from, struct fetched *out, struct missing *m)
{
	struct artifact a = *asked;
	struct key own = *k;
	int r = try_stored(f, so, from, asked, k, out);

	if (r == -ENOENT && learn_complete(f, &a, &own) && !key_equal(k, &own))
		r = try_stored(f, so, from, &a, &own, out);
	if (r != -ENOENT)
		return r;
	return !embedded_may_exist(f, so, &own) && known_missing(f, so, &a, k, m) ? 1 : -EAGAIN;
}

static void answer_missing(struct fetch *f, const struct artifact *cands, unsigned n, const struct missing *m,
	struct fetched *out)
{
	*out = (struct fetched){.r = -ENOENT, .miss_ms = (unsigned)m->seconds * 1000, .unnamed = !m->named,
		.why = m->named ? FETCH_KNOWN : fetch_unnamed(f, &cands[0])};
	key_of(&out->key, &cands[0]);
	if (m->named)
		miss_counts_add(f, &out->key); /* of the first meaning of the path */
	atomic_fetch_add(m->named ? &f->stats.remembered : &f->stats.misses, 1);
}

/* A candidate is the answer only when every candidate before it is known to be missing. Otherwise the meaning
 * of a path would depend on what happens to be stored. */
static int try_in_order(struct fetch *f, const struct sources *so, const struct artifact *cands,
	unsigned n, enum better_from from, struct fetched *out)
{
	struct missing m = {.seconds = MISS_ANSWER_MS / 1000};
	int r;

	for (unsigned i = 0; i < n; i++) {
		struct key k;

		if (key_of(&k, &cands[i]) < 0 || key_is_probe(&k))
			continue;
		r = try_one(f, so, &cands[i], &k, from, out, &m);
		if (r <= 0)
			return r;
	}
	answer_missing(f, cands, n, &m, out);
	return 0;
}

int fetch_try(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	struct fetched *out)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	atomic_fetch_add(need == FETCH_EXISTS ? &f->stats.lookups : &f->stats.opens, 1);
	return try_in_order(f, so, cands, n, BETTER_ANYWHERE, out);
}

int fetch_stored(struct fetch *f, const struct artifact *cands, unsigned n, struct fetched *out)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	return try_in_order(f, so, cands, n, BETTER_NOWHERE, out);
}

bool fetch_may_improve(struct fetch *f, const struct key *k, const struct blob *b)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	return better_may_exist(f, so, k, b);
}

/* The face of fetch/: answers at once where it can, tickets where it cannot. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"
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
	STAT(joined, "askers who joined one under way"),
	STAT(requests, "requests sent to sources"),
	STAT(bytes, "bytes received from sources"),
	STAT(published, "artifacts stored"),
	STAT(mismatches, "wrong files that sources sent"),
	STAT(failures, "flights that ended in an error"),
	STAT(timeouts, "lookup deadlines that passed"),
	STAT(cancelled, "flights whose last asker left"),
	{0},
};

struct sources *fetch_sources(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	return sources_ref(f->sources);
}

/* A person who sends SIGHUP may have mended the source that sent a wrong file: it is asked at once. */
static void forget_mismatches(void *ctx)
{
	struct fetch *f = ctx;

	memset(f->mismatches, 0, sizeof(f->mismatches));
}

void fetch_set_sources(struct fetch *f, struct sources *so)
{
	struct sources *old;

	trees_set(f, so);
	pthread_mutex_lock(&f->lock);
	old = f->sources;
	f->sources = so;
	f->loops_told = 0;
	pthread_mutex_unlock(&f->lock);
	net_call(f->net, forget_mismatches, f);
	symstore_renew(f);
	sources_unref(old);
}

struct store *fetch_store(struct fetch *f)
{
	return f->store;
}

struct fetch_stats *fetch_stats(struct fetch *f)
{
	return &f->stats;
}

/* ---- how often ---------------------------------------------------------------------- */

void asked_tell(struct fetch *f)
{
	_cleanup_free_ struct store_asked *asked = calloc(ASKED_MOST, sizeof(*asked));
	unsigned n;

	if (!asked)
		return;
	pthread_mutex_lock(&f->lock);
	n = f->n_asked;
	memcpy(asked, f->asked, n * sizeof(*asked));
	f->n_asked = 0;
	pthread_mutex_unlock(&f->lock);
	if (n)
		store_misses_asked(f->store, asked, n);
}

int64_t asked_since(struct fetch *f, const struct key *k)
{
	LOCK_SCOPE(&f->lock);

	for (unsigned i = 0; i < f->n_asked; i++)
		if (key_equal(&f->asked[i].key, k))
			return f->asked[i].times;
	return 0;
}

static void asked_work(void *ctx)
{
	asked_tell(ctx);
}

/* Numbers for people: when there are more keys than room, the rest of a moment is not counted. */
void asked_again(struct fetch *f, const struct key *k)
{
	unsigned i = 0;
	bool full;

	pthread_mutex_lock(&f->lock);
	while (i < f->n_asked && !key_equal(&f->asked[i].key, k))
		i++;
	if (i == f->n_asked && i < ASKED_MOST)
		f->asked[f->n_asked++] = (struct store_asked){.key = *k};
	if (i < ASKED_MOST)
		f->asked[i].times++;
	full = i == ASKED_MOST - 1 && f->asked[i].times == 1;
	pthread_mutex_unlock(&f->lock);
	if (full)
		workers_post(f->workers, asked_work, f);
}

/* ---- begin and end ------------------------------------------------------------------ */

static int fetch_init(struct fetch *f, const struct fetch_opts *o, struct err *e)
{
	char agent[160] = PACKAGE_NAME "/" PACKAGE_VERSION;
	struct net_opts no = {.user_agent = agent};
	int r;

	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->trees_lock, NULL);
	pthread_mutex_init(&f->recall_lock, NULL);
	f->opts = *o;
	f->opts.agent = NULL;
	if (o->agent)
		snprintf(agent, sizeof(agent), PACKAGE_NAME "/" PACKAGE_VERSION " %.100s", o->agent);
	r = breakers_new(&f->breakers, o->breaker_ms);
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
	while (f->flights) {
		struct fetched a = {.r = -EINTR, .key = f->flights->key, .why = "symfs is ending"};

		flight_finish(f->flights, &a);
	}
	symstore_stop(f);
}

#define LAST_LOOK_MS 2000

static void nothing(void *ctx)
{
}

int fetch_free(struct fetch *f)
{
	if (!f)
		return 0;
	store_hurry(f->store);
	if (f->net)
		net_call(f->net, close_flights, f);
	if (f->store && f->n_asked)
		asked_tell(f);
	workers_free(f->workers);	/* their jobs post back to the net thread */
	if (!workers_end(f->lookers, LAST_LOOK_MS)) {
		log_warn("a directory does not answer: ending all the same");
		return -EBUSY;
	}
	if (f->net) {
		net_call(f->net, nothing, NULL); /* which has then seen them all */
		net_stop(f->net);
	}
	trees_set(f, NULL);
	breakers_free(f->breakers);
	sources_unref(f->sources);
	symstore_free(f);
	pthread_mutex_destroy(&f->trees_lock);
	pthread_mutex_destroy(&f->recall_lock);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return 0;
}

/* ---- at once ------------------------------------------------------------------------ */

bool fetch_can_name(const struct sources *so, const struct artifact *a)
{
	int r = -ENOENT;

	for (unsigned i = 0; r == -ENOENT && i < so->n; i++) {
		struct source_ask ask = {0};

		r = source_plan(so->list[i], NULL, a, 0, &ask);
		source_ask_release(&ask);
	}
	return r != -ENOENT;
}

/* What is known of a file that is not stored. */
struct missing {
	bool named;	 /* a source was asked for it, or could be */
	int64_t seconds; /* for how long no source has it, by memory alone */
};

/* Is it known, from memory alone, that no source has it? */
static bool known_missing(struct fetch *f, const struct sources *so, const struct artifact *a,
	const struct key *k, struct missing *m)
{
	int64_t now = clock_wall();

	for (unsigned i = 0; i < so->n; i++) {
		struct source_ask ask = {0};
		int r = source_plan(so->list[i], NULL, a, 0, &ask);
		int64_t until;

		source_ask_release(&ask);
		if (r == -ENOENT && !local_tells_ids(so->list[i], a))
			continue;
		m->named = true;
		if (so->list[i]->kind->local)
			return false;
		until = store_miss_until(f->store, k, layout_name_of(so->list[i]->layout, a),
			so->list[i]->memory);
		if (until <= now)
			return false;
		m->seconds = MIN(m->seconds, until - now);
	}
	return true;
}

static bool try_stored(struct fetch *f, const struct key *k, struct fetched *out)
{
	struct key main;
	struct blob *b;

	if (learn_find(f, k, &b, &main) < 0)
		return false;
	*out = (struct fetched){.key = main, .blob = b, .size = blob_size(b), .why = "",
		.was = was_find(f, blob_number(b))};
	atomic_fetch_add(&f->stats.hits, 1);
	return true;
}

/* 0: answered. 1: nobody has it. -EAGAIN. Misses are those of the key that was asked for. */
static int try_one(struct fetch *f, const struct sources *so, const struct artifact *asked,
	const struct key *k, struct fetched *out, struct missing *m)
{
	struct artifact a = *asked;
	struct key own = *k;

	if (try_stored(f, k, out))
		return 0;
	if (learn_complete(f, &a, &own) && !key_equal(k, &own) && try_stored(f, &own, out))
		return 0;
	return known_missing(f, so, &a, k, m) ? 1 : -EAGAIN;
}

static void answer_missing(struct fetch *f, const struct artifact *cands, unsigned n, const struct missing *m,
	struct fetched *out)
{
	*out = (struct fetched){.r = -ENOENT, .miss_ms = (unsigned)m->seconds * 1000, .unnamed = !m->named,
		.why = m->named ? "known to be missing" : FETCH_UNNAMED};
	key_of(&out->key, &cands[0]);
	for (unsigned i = 0; m->named && i < n; i++) {
		struct key k;

		if (key_of(&k, &cands[i]) == 0)
			asked_again(f, &k);
	}
	atomic_fetch_add(m->named ? &f->stats.remembered : &f->stats.misses, 1);
}

/* A candidate answers only when all before it are known to be nowhere: else the same path would
 * be one file or another, by what happens to be stored. */
static int try_in_order(struct fetch *f, const struct sources *so, const struct artifact *cands,
	unsigned n, struct fetched *out)
{
	struct missing m = {.seconds = MISS_ANSWER_MS / 1000};
	int r;

	for (unsigned i = 0; i < n; i++) {
		struct key k;

		if (key_of(&k, &cands[i]) < 0)
			continue;
		r = try_one(f, so, &cands[i], &k, out, &m);
		if (r <= 0)
			return r;
	}
	answer_missing(f, cands, n, &m, out);
	return 0;
}

int fetch_try(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	struct fetched *out)
{
	struct sources *so = fetch_sources(f);
	int r;

	atomic_fetch_add(need == FETCH_EXISTS ? &f->stats.lookups : &f->stats.opens, 1);
	r = try_in_order(f, so, cands, n, out);
	sources_unref(so);
	return r;
}

/* ---- tickets ------------------------------------------------------------------------ */

void ticket_unref(struct ticket *t)
{
	if (t && __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(t);
}

static void ticket_deliver(struct ticket *t, const struct fetched *a)
{
	struct fetched b = *a;

	t->done = true;
	net_timer_stop(t->f->net, &t->deadline);
	if (b.r == -ENOENT)
		atomic_fetch_add(&t->f->stats.misses, 1);
	if (b.blob)
		b.was = was_find(t->f, blob_number(b.blob));
	t->ready(t->ctx, &b);
	ticket_unref(t);
}

static void ticket_overdue(void *ctx)
{
	struct ticket *t = ctx;
	struct fetched a = {.r = -ETIMEDOUT, .why = "no answer before the lookup deadline"};

	if (t->flight && !flight_overdue(t->flight, t))
		return;
	key_of(&a.key, &t->cands[0]);
	ticket_deliver(t, &a);
}

/* Each candidate's flight has a deadline of its own; together they may not take longer than one.
 * Who wants the whole, and waited for the body of one that turned out wrong, waits anew. */
static bool ticket_may_wait(struct ticket *t)
{
	uint64_t waited = clock_ms() - t->began, most = t->f->opts.lookup_deadline_ms;

	if (waited < most)
		net_timer_set(
			t->f->net, &t->deadline, (unsigned)(most - waited), ticket_overdue, t);
	return waited < most || (t->need != FETCH_EXISTS && t->worst != -ETIMEDOUT);
}

/* The next candidate that has a key; past the last, what became of all of them. */
static void ticket_go_on(struct ticket *t)
{
	struct fetched a = {.r = t->worst ? t->worst : -ENOENT, .unnamed = !t->worst && !t->named,
		.why = t->worst	 ? t->worst_why
		       : t->named ? "no source has it"
				  : FETCH_UNNAMED};
	struct key k;

	while (t->at < t->n && key_of(&k, &t->cands[t->at]) < 0)
		t->at++;
	if (t->at < t->n && !t->f->closing) {
		if ((t->at > 0 || t->again) && !ticket_may_wait(t)) {
			ticket_overdue(t);
			return;
		}
		k = store_key(t->f->store, &k); /* a file with a key of its own is not another one's flight */
		flight_join(t->f, t, &t->cands[t->at], &k);
		return;
	}
	key_of(&a.key, &t->cands[0]);
	a.miss_ms = t->worst ? 0 : t->miss_ms;
	if (t->f->closing)
		a.r = -EINTR;
	ticket_deliver(t, &a);
}

void ticket_answer(struct ticket *t, const struct fetched *a)
{
	if (a->r == 0) {
		ticket_deliver(t, a);
		return;
	}
	if (a->r == -ENOENT) {
		t->named |= !a->unnamed;
		t->miss_ms = MIN(t->miss_ms, a->miss_ms);
	} else if (!t->worst) {
		t->worst = a->r;
		snprintf(t->worst_why, sizeof(t->worst_why), "%.190s", a->why);
	}
	t->at++;
	ticket_go_on(t);
}

void ticket_again(struct ticket *t)
{
	t->again = true;
	ticket_go_on(t);
}

static void ticket_begin(void *ctx)
{
	struct ticket *t = ctx;

	t->began = clock_ms();
	ticket_go_on(t);
}

int fetch_open(struct fetch *f, const struct artifact *cands, unsigned n, enum fetch_need need,
	fetch_ready *ready, void *ctx, struct ticket **out)
{
	struct ticket *t = calloc(1, sizeof(*t) + n * sizeof(*cands));

	if (!t)
		return -ENOMEM;
	*t = (struct ticket){.refs = 2, .f = f, .need = need, .ready = ready, .ctx = ctx, .n = n,
		.miss_ms = MISS_ANSWER_MS};
	memcpy(t->cands, cands, n * sizeof(*cands));
	*out = t;
	if (net_post(f->net, ticket_begin, t) < 0) {
		free(t);
		*out = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void cancel_now(void *ctx)
{
	struct ticket *t = ctx;
	struct fetched a = {.r = -EINTR, .why = "interrupted"};

	if (!t->done) {
		if (t->flight)
			flight_leave(t->flight, t);
		key_of(&a.key, &t->cands[0]);
		ticket_deliver(t, &a);
	}
	ticket_unref(t);
}

void ticket_cancel(struct ticket *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	if (net_post(t->f->net, cancel_now, t) < 0)
		ticket_unref(t); /* it ends at its deadline instead */
}

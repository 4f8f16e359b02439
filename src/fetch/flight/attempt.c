/* One source in the race for one key: asks it for all spellings of the file, judges the heads of its answers,
 * and tries again after a transient error. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"
#include "source/bucket-key.h"
#include "source/ptr.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MS 50 /* pause before a retry, plus a random time up to 150 ms, which spreads retries */
#define HURRY_MS 100 /* how long the first spelling is asked for alone */

static ptr_followed ptr_led;
static void attempt_settle(struct attempt *at);

static void attempt_say(struct attempt *at)
{
	flight_say(at->flight, (struct event){SAID_ATTEMPT});
}

void attempt_release(struct attempt *at)
{
	queries_release(at);
	blob_unref(take(at->blob));
	symstore_known_release(&at->facts);
	symstore_wait_stop(&at->wait);
}

static void failure_set(struct attempt *at, int error, const char *text)
{
	at->failure.error = error;
	snprintf(at->failure.text, sizeof(at->failure.text), "%.190s", text);
}

/* The source is not asked, because of an earlier answer. */
static void attempt_skip(struct attempt *at, int error, const char *text)
{
	at->state = ATTEMPT_FAILED;
	failure_set(at, error, text);
	log_debug(LOG_FETCH, "%s: %s: %s", at->flight->canon, at->source->name, at->failure.text);
}

static void note_answer(const struct attempt *at, const struct source_ask *ask, int error, const char *text)
{
	seen_add(at->flight->f, seen_number(at->flight->number, at->source, ask), error, text);
}

void attempt_fail(struct attempt *at, int error, const char *text)
{
	attempt_skip(at, error, text);
	note_answer(at, &at->ask, error, at->failure.text);
	absent_add(at);
}

/* One spelling could not be asked, or its file is wrong. The other spellings decide the result of the attempt. */
static void query_fail(struct query *q, int error, const char *text)
{
	struct attempt *at = q->attempt;

	if (q->state != QUERY_FAILED)
		note_answer(at, &q->ask, error, text);
	q->state = QUERY_FAILED;
	if (!at->failure.which)
		at->failure.which = FAILED_QUERY;
	failure_set(at, error, text);
	if (at->likely == q)
		at->likely = NULL;
	if (at->answering == q) {
		at->answering = NULL;
		at->answer = (struct answer){0};
	}
}

static void attempt_blame(struct attempt *at, const struct judgement *j, const struct net_reply *r)
{
	uint64_t hold = r->retry_after > 0 ? (uint64_t)r->retry_after * 1000 : 0;

	breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), j, hold);
}

/* A transient error is retried once, silently: neither the breaker nor the caller is informed. This is only for a
 * host that has been healthy, so that a flaky host does not cost every caller a second wait. */
static bool attempt_wants_again(struct attempt *at, const struct judgement *j)
{
	if (!j->again || at->retry.used ||
		!breaker_well(at->flight->f->breakers, at->source->origin))
		return false;
	at->retry.used = at->retry.soon = true;
	failure_set(at, j->error, j->text);
	log_debug(LOG_FETCH, "%s: %s: %s: once more", at->flight->canon, at->source->name, j->text);
	return true;
}

static void again_now(void *ctx)
{
	struct attempt *at = ctx;

	attempt_start(at);
	attempt_say(at);
}

void attempt_again(struct attempt *at)
{
	uint64_t mixed[] = {at->asked, at->flight->number, (uint64_t)getpid()};
	unsigned jitter = (unsigned)(hash_mix(mixed, sizeof(mixed)) % (3 * AGAIN_MS));

	at->retry.soon = false;
	at->state = ATTEMPT_ASKING;
	net_timer_set(at->flight->f->net, &at->later, AGAIN_MS + jitter, again_now, at);
}

/* Logs a refusal (401, 403), at most once per source every 10 s: the credentials may be wrong or expired. */
static void log_refusal(struct attempt *at, const char *text)
{
	struct fetch *f = at->flight->f;
	const char *name = at->source->name;
	uint64_t *until = &f->refused_until[hash_mix(name, strlen(name)) % REFUSED_SLOTS];

	if (*until > clock_ms())
		return;
	*until = clock_ms() + REFUSED_MS;
	log_warn("%s: source %s refuses the request: %s", at->flight->canon, name, text);
}

/* The source answers, but its first range did not arrive. A request for the whole file may succeed. */
static bool attempt_tries_plain(struct attempt *at, const struct net_reply *r)
{
	if (!at->answering->asked_range || at->plain || !at->answer.here || r->error == -ECANCELED ||
		r->error == -EBADMSG)
		return false;
	at->plain = at->retry.soon = true;
	return true;
}

bool attempt_broke(struct attempt *at, const struct net_reply *r, bool ranged, struct judgement *j)
{
	source_judge(at->source, r, j);
	if (attempt_wants_again(at, j) || (ranged && attempt_tries_plain(at, r)))
		return true;
	attempt_blame(at, j, r);
	return false;
}

/* ---- the head of an answer -------------------------------------------------------------------------------- */

static void attempt_stale(struct attempt *at)
{
	at->retry.stale = true;
	attempt_fail(at, -ESTALE, "it has another version of what is being read");
}

/* The server could not say whether it has this spelling. */
static void query_trouble(struct query *q, const struct judgement *j, const struct net_reply *r)
{
	struct attempt *at = q->attempt;

	if (!at->retry.soon && !attempt_wants_again(at, j) && !at->blamed) {
		attempt_blame(at, j, r);
		at->blamed = true;
	}
	if (!at->retry.soon && j->verdict == VERDICT_REFUSED)
		log_refusal(at, j->text);
	query_fail(q, j->error, j->text);
	at->failure.which = FAILED_LAST;
}

static int query_missing(struct query *q, const struct judgement *j, const struct net_reply *r)
{
	attempt_blame(q->attempt, j, r);
	note_answer(q->attempt, &q->ask, j->error, j->text);
	q->state = QUERY_MISSING;
	if (q->attempt->likely == q)
		q->attempt->likely = NULL;
	return r->status >= 400 ? 0 : -ECANCELED;
}

/* The query's file is arriving. Cancels the queries for other spellings. */
static void answer_found(struct query *q)
{
	struct attempt *at = q->attempt;

	at->retry.soon = false;
	at->failure.which = FAILED_NOT;
	at->likely = q;
	net_timer_stop(at->flight->f->net, &at->hurry);
	queries_cancel(at, q);
}

/* Judges the head of an answer that is not "missing". */
static int attempt_head(struct query *q, const struct net_reply *r)
{
	struct attempt *at = q->attempt;
	struct net_reply whole;
	struct judgement j;

	switch (answer_take(q, r, &whole)) {
	case ANSWER_USELESS:
		answer_found(q);
		at->plain = at->retry.soon = true;
		return -ECANCELED;
	case ANSWER_OTHER_VERSION:
		answer_found(q);
		attempt_stale(at);
		return -ECANCELED;
	case ANSWER_USABLE:
		break;
	}
	source_judge(at->source, &whole, &j);
	if (j.verdict != VERDICT_FOUND) {
		query_trouble(q, &j, &whole);
		return whole.status >= 400 ? 0 : -ECANCELED;
	}
	attempt_blame(at, &j, &whole);
	answer_found(q);
	return 0;
}

static int query_head(void *ctx, const struct net_reply *r)
{
	struct query *q = ctx;
	struct judgement j;

	latency_add(q, true);
	source_judge(q->attempt->source, r, &j);
	if (j.verdict == VERDICT_MISSING)
		return query_missing(q, &j, r);
	if (q->attempt->answering)
		return -ECANCELED;
	if (!q->ask.ptr)
		return attempt_head(q, r);
	if (j.verdict == VERDICT_FOUND) {
		attempt_blame(q->attempt, &j, r);
		return 0;
	}
	query_trouble(q, &j, r);
	return r->status >= 400 ? 0 : -ECANCELED;
}

/* ---- its first bytes -------------------------------------------------------------------------------------- */

/* The source's file is not the flight's, but what the path of its requests means next: keeps it for that flight. */
static void answer_keep(struct attempt *at, const struct net_reply *r)
{
	struct query *q = at->answering;

	note_answer(at, &q->ask, -ENOENT, "the file at this path has another meaning of the path");
	kept_add(q, r);
	q->state = QUERY_MISSING;
	at->state = ATTEMPT_MISSING;
}

/* Before the election the attempt takes only the bytes that show the type of the file. */
static int query_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct query *q = ctx;
	struct attempt *at = q->attempt;
	uint8_t head[HEAD_MOST]; /* more bytes of a packed file show more of its inside */

	if (q->ask.ptr)
		return q->ptr.n + n >= q->ptr.most ? -EBADMSG : buf_add(&q->ptr, p, n);
	if (at->answering != q)
		return -ECANCELED;
	if (at->state == ATTEMPT_WON)
		return at->taker->body(at, off, p, n);
	if (at->state == ATTEMPT_PROMISING)
		return -EAGAIN;
	if (at->answer.from) { /* the first bytes were seen long ago */
		at->state = ATTEMPT_PROMISING;
		attempt_say(at);
		return -EAGAIN;
	}
	if (at->answer.head_n + n < OBJ_HEAD) {
		memcpy(at->answer.head + at->answer.head_n, p, n);
		at->answer.head_n += n;
		return 0;
	}
	memcpy(head, at->answer.head, at->answer.head_n);
	n = MIN(n, sizeof(head) - at->answer.head_n);
	memcpy(head + at->answer.head_n, p, n);
	n += at->answer.head_n;
	if (!answer_may_win(at, head, n, at->answer.size >= 0 && (uint64_t)at->answer.size == n))
		return -EBADMSG;
	if (at->answer.other)
		answer_keep(at, transfer_reply(at->answering->transfer));
	else
		at->state = ATTEMPT_PROMISING;
	attempt_say(at);
	return -EAGAIN;
}

/* The body cannot be the file that was asked for. If all spellings were asked for, another spelling may be right. */
static void mismatch(struct attempt *at, const char *text)
{
	mismatch_add(at, -EBADMSG, text);
	at->failure.which = at->spread ? FAILED_QUERY : FAILED_LAST;
	query_fail(at->answering, -EBADMSG, text);
}

/* mismatch(), with a message that names what the body is instead. */
static void mismatch_head(struct attempt *at)
{
	struct view v = view_of_mem(at->answer.head, at->answer.head_n);
	struct obj_slice slice;
	struct err e = {0};

	obj_check(&v, &at->flight->own, &slice, &e);
	mismatch(at, e.text[0] ? e.text : "not a file of the kind that was asked for");
}

/* The body ended before the election, so `head` holds the whole body. */
static void short_body(struct attempt *at, const struct net_reply *r)
{
	if (at->state == ATTEMPT_PROMISING)
		return;
	if (!answer_may_win(at, at->answer.head, at->answer.head_n, true)) {
		mismatch_head(at);
		return;
	}
	if (at->answer.other) {
		answer_keep(at, r);
		return;
	}
	at->answer.whole = true;
	at->state = ATTEMPT_PROMISING;
}

/* The transfer of the answer broke off before the election. */
static void answer_broke(struct attempt *at, const struct net_reply *r)
{
	struct judgement j;

	if (attempt_broke(at, r, true, &j))
		return;
	/* Remember a file whose announced length is too large, so that the source is not asked again. */
	if (j.error == -EFBIG && at->state == ATTEMPT_PROMISING)
		mismatch_add(at, j.error, j.text);
	attempt_fail(at, j.error, j.text);
}

/* The transfer of the attempt's answer ended. */
static void answer_done(struct query *q, const struct net_reply *r)
{
	struct attempt *at = q->attempt;

	if (at->state == ATTEMPT_WON) {
		at->taker->done(at, r);
		return;
	}
	if (at->state == ATTEMPT_FAILED) {
		attempt_say(at);
		return;
	}
	if (r->error == -EBADMSG)
		mismatch(at, "its first bytes are of another kind of file");
	else if (r->error < 0 && !at->retry.soon)
		answer_broke(at, r);
	else if (!at->retry.soon)
		short_body(at, r);
	if (at->retry.soon) {
		q->state = QUERY_IDLE;
		at->answering = NULL;
		at->state = ATTEMPT_ASKING;
	}
	attempt_settle(at);
	attempt_say(at);
}

static void query_done(void *ctx, const struct net_reply *r)
{
	struct query *q = ctx;
	struct attempt *at = q->attempt;
	struct judgement j;

	if (!r->http)
		latency_add(q, false);
	q->transfer = NULL;
	if (at->answering == q) {
		answer_done(q, r);
		return;
	}
	if (q->state != QUERY_ASKING) {
		/* the head decided already */
	} else if (r->error == 0 && q->ask.ptr) {
		q->state = QUERY_POINTS;
	} else if (at->answering) {
		q->state = QUERY_IDLE;
	} else {
		source_judge(at->source, r, &j);
		query_trouble(q, &j, r);
	}
	attempt_settle(at);
	attempt_say(at);
}

static const struct net_sink query_sink = {query_head, query_body, query_done};

/* ---- sending queries -------------------------------------------------------------------------------------- */

/* Whether a remembered mismatch makes the request needless. If so, the query fails with its error. */
static bool is_answered(struct query *q)
{
	const struct mismatch *m = mismatch_find(q);

	if (!m)
		return false;
	q->state = QUERY_FAILED;
	q->attempt->failure.which = q->attempt->spread ? FAILED_QUERY : FAILED_LAST;
	failure_set(q->attempt, m->error, m->text);
	return true;
}

/* Whether the source may be asked now. Otherwise the attempt fails with the reason, unless another of its queries
 * runs: that query is then the breaker's test of the host. */
static bool may_ask(struct attempt *at)
{
	char why[240];

	/* Readers have a part of the file and need the rest, so the breaker is not asked. */
	if (at->flight->readers.part ||
		breaker_may(at->flight->f->breakers, at->source->origin, clock_ms(), why))
		return true;
	if (!queries_run(at))
		attempt_skip(at, breaker_error(at->flight->f->breakers, at->source->origin), why);
	return false;
}

/* Returns false if no further query may be sent now. */
static bool query_start(struct query *q)
{
	struct attempt *at = q->attempt;
	struct net_reply reply;
	int r;

	if (is_answered(q))
		return true;
	if (kept_take(q, &query_sink, &reply)) {
		q->state = QUERY_ASKING;
		attempt_head(q, &reply);
		if (q->transfer)
			transfer_resume(q->transfer);
		else
			answer_done(q, &reply);
		return true;
	}
	if (!may_ask(at))
		return false;
	r = query_send(q, &query_sink);
	if (r == 0)
		return true;
	breaker_unheard(at->flight->f->breakers, at->source->origin);
	if (!queries_run(at))
		attempt_fail(at, r, err_text(r));
	return false;
}

/* Asks for all spellings that have no answer yet; for late spellings when no query runs that may find the file. The
 * host's `connections` limits the number of transfers at once. */
static void attempt_spread(struct attempt *at)
{
	net_timer_stop(at->flight->f->net, &at->hurry);
	if (!at->spread)
		at->asked = clock_ms();
	at->spread = true;
	for (unsigned late = 0; late < 2 && (!late || !queries_run(at)); late++)
		for (unsigned i = 0; i < at->n_queries && at->failure.which != FAILED_LAST && !at->answering; i++)
			if (at->queries[i].state == QUERY_IDLE && at->queries[i].ask.late == late &&
				!query_start(&at->queries[i]))
				return;
	if (at->n_queries)
		symstore_beside(&at->wait, &at->facts);
}

static void hurry(void *ctx)
{
	struct attempt *at = ctx;

	if (at->state != ATTEMPT_ASKING || at->answering || at->failure.which == FAILED_LAST)
		return;
	if (queries_are_queued(at)) /* more requests would only make the host's queue longer */
		net_timer_set(at->flight->f->net, &at->hurry, HURRY_MS, hurry, at);
	else
		attempt_spread(at);
}

/* What the bucket sent, or does not have, is an error of the bucket. */
static void fail_bucket(struct attempt *at, struct query *q, int error, const char *text)
{
	at->answering = q;
	at->ask = q->ask;
	attempt_fail(at, error, text);
}

/* Every spelling was a miss. */
static void attempt_exhausted(struct attempt *at)
{
	int r;

	if (at->lead.digest[0] && at->n_queries) {
		fail_bucket(at, at->queries, -EREMOTEIO, "the bucket's key object names bytes that are not there");
		return;
	}
	r = symstore_after(&at->wait, &at->facts, at->n_queries > 0, at->failure.text);

	if (r == -EINPROGRESS)
		return;
	if (r == 1) {
		queries_release(at); /* the store has two tiers, so there are other spellings */
		at->spread = true;
		attempt_start(at);
	} else if (r < 0) {
		char text[200];

		snprintf(text, sizeof(text), "%s", at->failure.text);
		attempt_fail(at, r, text);
	} else {
		at->state = ATTEMPT_MISSING;
	}
}

/* The key object of a bucket names the object that has the file: asks for that object. False: no key object came. */
static bool follow_lead(struct attempt *at)
{
	struct query *q = queries_first(at, QUERY_POINTS);
	struct bucket_key found;
	char digest[SHA256_TEXT];
	int r;

	if (!q || !q->ask.leads)
		return false;
	r = bucket_key_parse(buf_text(&q->ptr), q->ptr.n, &found);
	if (r == 0)
		bucket_key_digest(&found.key, digest);
	if (r < 0 || !strstr(q->ask.where, digest)) {
		fail_bucket(at, q, r == -ENOMEM ? r : -EREMOTEIO, "the bucket's key object is malformed");
		return true;
	}
	memcpy(at->lead.digest, found.sha256, sizeof(at->lead.digest));
	at->lead.time = found.modified;
	queries_release(at);
	at->spread = false;
	attempt_start(at);
	return true;
}

/* A query ended that is not the attempt's answer: asks for more spellings, or concludes. */
static void attempt_settle(struct attempt *at)
{
	char text[200];

	if (at->answering || at->state != ATTEMPT_ASKING || queries_run(at))
		return;
	if (at->retry.soon) {
		attempt_again(at);
		return;
	}
	if (follow_lead(at))
		return;
	if (at->failure.which != FAILED_LAST)
		attempt_spread(at);
	if (at->state != ATTEMPT_ASKING || queries_run(at))
		return;
	if (at->failure.which) {
		snprintf(text, sizeof(text), "%s", at->failure.text);
		absent_add(at);
		attempt_skip(at, at->failure.error, text);
		return;
	}
	at->answering = queries_first(at, QUERY_POINTS);
	if (at->answering) {
		at->ask = at->answering->ask;
		ptr_follow(at, ptr_led);
	} else {
		attempt_exhausted(at);
	}
}

/* The facts for which the attempt waited are known now, or cannot be known. */
static void attempt_waited(struct symstore_wait *w)
{
	struct attempt *at = (struct attempt *)((char *)w - offsetof(struct attempt, wait));

	attempt_start(at);
	attempt_say(at);
}

/* Plans the queries. False: the attempt waits for the source's list of files, or it failed. */
static bool attempt_plan(struct attempt *at)
{
	int r;

	if (at->queries)
		return true;
	symstore_wait_stop(&at->wait);
	at->wait = (struct symstore_wait){at->flight->f, at->flight->sources, at->source, attempt_waited};
	if (symstore_before(&at->wait, at->failure.text))
		return false;
	symstore_known_release(&at->facts);
	at->facts = symstore_known(at->flight->f, at->source);
	taught_fill(at->flight->f, at->source, &at->flight->what, &at->facts);
	memcpy(at->facts.blob, at->lead.digest, sizeof(at->lead.digest));
	r = queries_plan(at);
	if (r < 0)
		attempt_fail(at, r, err_text(r));
	return r == 0;
}

/* Asks for one spelling alone, because the other spellings are seldom needed. */
static void ask_first(struct attempt *at)
{
	struct query *q = at->likely ? at->likely : queries_first(at, QUERY_IDLE);

	if (!q || (at->spread && !at->likely) || (q->ask.ptr && !q->ask.leads)) {
		attempt_settle(at);
		return;
	}
	if (query_start(q) && q->transfer && !at->likely)
		net_timer_set(at->flight->f->net, &at->hurry, HURRY_MS, hurry, at);
	attempt_settle(at);
}

void attempt_start(struct attempt *at)
{
	at->answer = (struct answer){.size = -1};
	at->retry.soon = at->blamed = false;
	at->failure.which = FAILED_NOT;
	at->job++;
	at->asked = clock_ms();
	at->answering = NULL;
	at->state = ATTEMPT_ASKING;
	if (at->retry.stale) {
		attempt_skip(at, -ESTALE, "it has another version of what is being read");
		return;
	}
	if (at->retry.renew) {
		queries_cancel(at, NULL);
		queries_release(at);
		at->spread = at->retry.renew = false;
		at->lead.digest[0] = '\0';
	}
	if (!attempt_plan(at))
		return;
	for (unsigned i = 0; i < at->n_queries; i++)
		if (at->queries[i].state != QUERY_MISSING)
			at->queries[i].state = QUERY_IDLE;
	ask_first(at);
}

static void ptr_led(struct attempt *at, int r, struct blob *blob, const struct key *own, const char *text)
{
	if (at->state != ATTEMPT_ASKING)
		return;
	if (r == 0 && blob) {
		at->blob = blob_ref(blob);
		at->flight->own = *own;
		at->state = ATTEMPT_PROMISING;
	} else if (r == -ENOENT) {
		log_debug(LOG_FETCH, "%s: %s: %s", at->flight->canon, at->source->name, text);
		at->answering->state = QUERY_MISSING;
		at->answering = NULL;
		attempt_settle(at);
	} else if (r == -EBADMSG) {
		mismatch_add(at, r, text);
		attempt_fail(at, r, text);
	} else {
		attempt_fail(at, r, text[0] ? text : err_text(r));
	}
	attempt_say(at);
}

void attempt_give_up(struct attempt *at)
{
	struct judgement j = {.error = at->failure.error, .blame = BLAME_SOFT};

	/* The retry will not happen, so the breaker now counts its error. */
	memcpy(j.text, at->failure.text, sizeof(j.text));
	if (at->later.due)
		breaker_tell(at->flight->f->breakers, at->source->origin, clock_ms(), &j, 0);
	net_timer_stop(at->flight->f->net, &at->later);
	net_timer_stop(at->flight->f->net, &at->hurry);
	/* A cancelled request may have been the breaker's test of a failing host. */
	if (queries_cancel(at, NULL) && !at->answer.here)
		breaker_unheard(at->flight->f->breakers, at->source->origin);
	at->job++;
	symstore_wait_stop(&at->wait);
	blob_unref(take(at->blob));
	if (at->state == ATTEMPT_ASKING || at->state == ATTEMPT_PROMISING)
		at->state = ATTEMPT_IDLE;
}

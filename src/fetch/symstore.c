/* Asks symbol stores for facts that their configuration lacks: whether a store has two tiers (index2.txt), and
 * which files it lists (000Admin). Each question is sent once, and all callers wait for its answer: a miss
 * counts only when the number of tiers is known.
 *
 * Facts are stored by a source's location, so they survive a reload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/symstore.h"
#include "source/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIERS_SECONDS 86400	  /* seconds for which the number of tiers counts */
#define INDEX_MS (3600u * 1000)	  /* time until lastid.txt is requested again */
#define AGAIN_MS (600u * 1000)	  /* this time instead, after an error */
#define TROUBLE_MS 5000		  /* how long callers get the same error without a new request */
#define TROUBLE_MOST 3		  /* after this many failed transactions in a row, the host is at fault, not a file */
#define SEGMENT_MOST (64u << 20)  /* the most bytes of one transaction */
#define LASTID_MOST 64		  /* the most bytes of lastid.txt */

enum question { ASK_NOTHING, ASK_INDEX2, ASK_LASTID, ASK_SEGMENT };

struct symstore {
	struct symstore *next;
	struct fetch *f;
	char memory[64]; /* `memory` of the source: its location */

	/* under f->lock; known.admin is a reference, and NULL unless the index is complete */
	struct source_facts known;
	int64_t tiers_until; /* wall clock until which known.two_tier counts; 0: known.two_tier is unknown */
	struct symstore_listing loaded; /* saved by an earlier process; the net thread takes it */
	bool recalled; /* a thread has tried to load `loaded` */
	bool renew;    /* lastid.txt is to be requested, whatever the age of the index */

	/* net thread only */
	struct sources *set; /* during a question: a reference that keeps `source` alive */
	const struct source *source;
	enum question question;
	struct transfer *transfer;
	struct net_reply reply;
	struct symstore_wait *waiting, *called; /* `called`: callers that are being called back now */
	uint64_t trouble_until; /* clock_ms() until which callers get `trouble_error` */
	int trouble_error;
	char trouble[200]; /* message of `trouble_error` */

	struct symstore_listing now; /* the index in use */
	uint64_t index_due; /* clock_ms() at which lastid.txt is requested again */
	char lastid[LASTID_MOST];
	size_t lastid_n;
	struct admin_index *building; /* the index that is being downloaded */
	unsigned building_last; /* number of the newest transaction in `building` */
	unsigned todo[ADMIN_SEGMENTS_MOST], todo_n, todo_at; /* transactions to read */
	unsigned bad[ADMIN_SEGMENTS_MOST], bad_n; /* transactions that could not be read */
	unsigned in_a_row; /* consecutive transactions that could not be read */
};

/* ---- the facts that are known ----------------------------------------------------------- */

static struct symstore *symstore_find(struct fetch *f, const struct source *s)
{
	struct symstore *ss = f->symstores;

	while (ss && strcmp(ss->memory, s->memory) != 0)
		ss = ss->next;
	return ss;
}

/* Finds the struct of the source, or adds one. Call it under f->lock. NULL: no memory. */
static struct symstore *symstore_of(struct fetch *f, const struct source *s)
{
	struct symstore *ss = symstore_find(f, s);

	if (ss)
		return ss;
	ss = calloc(1, sizeof(*ss));
	if (!ss)
		return NULL;
	ss->f = f;
	snprintf(ss->memory, sizeof(ss->memory), "%s", s->memory);
	ss->next = f->symstores;
	f->symstores = ss;
	return ss;
}

struct source_facts symstore_known(struct fetch *f, const struct source *s)
{
	struct source_facts known = {0};
	LOCK_SCOPE(&f->lock);
	const struct symstore *ss = symstore_find(f, s);

	if (ss && ss->tiers_until > clock_wall())
		known.two_tier = ss->known.two_tier;
	if (ss && ss->known.admin)
		known.admin = admin_ref(ss->known.admin);
	return known;
}

void symstore_known_release(struct source_facts *known)
{
	admin_unref(take(known->admin));
	free(take(known->code_file));
	free(take(known->debug_file));
	known->two_tier = false;
}

/* Cancels the requests, because later answers would be posted to workers that have ended. */
void symstore_stop(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	for (struct symstore *ss = f->symstores; ss; ss = ss->next)
		if (ss->transfer)
			transfer_cancel(take(ss->transfer));
}

void symstore_free(struct fetch *f)
{
	while (f->symstores) {
		struct symstore *ss = f->symstores;

		f->symstores = ss->next;
		admin_unref(ss->known.admin);
		admin_unref(ss->now.index);
		admin_unref(ss->loaded.index);
		admin_unref(ss->building);
		sources_unref(ss->set);
		free(ss);
	}
}

static bool wants_tiers(const struct source *s)
{
	return source_is_store(s) && s->layout->tiered;
}

/* ---- facts that an earlier process saved ------------------------------------------------ */

static void symstore_recall_listing(struct fetch *f, const struct source *s)
{
	struct symstore_listing got = {0};
	struct symstore *ss;

	LOCK_SCOPE(&f->recall_lock);
	pthread_mutex_lock(&f->lock);
	ss = symstore_of(f, s);
	if (ss && ss->recalled)
		ss = NULL;
	if (ss)
		ss->recalled = true;
	pthread_mutex_unlock(&f->lock);
	if (!ss || symstore_load_listing(f, s->memory, &got) < 0)
		return;
	pthread_mutex_lock(&f->lock);
	ss->loaded = got;
	pthread_mutex_unlock(&f->lock);
}

void symstore_renew(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	for (struct symstore *ss = f->symstores; ss; ss = ss->next)
		ss->renew = true;
}

void symstore_recall(struct fetch *f, const struct source *s)
{
	int64_t now = clock_wall(), until;
	bool two_tier;

	if (s->o.has_index && source_is_store(s))
		symstore_recall_listing(f, s);
	if (!wants_tiers(s) || symstore_load_tiers(f, s->memory, &two_tier, &until) < 0 || until <= now ||
		until > now + TIERS_SECONDS)
		return;
	LOCK_SCOPE(&f->lock);
	struct symstore *ss = symstore_of(f, s);

	if (!ss || ss->tiers_until > now)
		return;
	ss->known.two_tier = two_tier;
	ss->tiers_until = until;
}

/* ---- asking (net) ----------------------------------------------------------------------- */

static int symstore_ask(struct symstore *ss, enum question q, const char *path);

static void know_tiers(struct symstore *ss, bool two_tier)
{
	int64_t until = clock_wall() + TIERS_SECONDS;

	pthread_mutex_lock(&ss->f->lock);
	ss->known.two_tier = two_tier;
	ss->tiers_until = until;
	pthread_mutex_unlock(&ss->f->lock);
	log_debug(LOG_FETCH, "source %s has %s", ss->source->name, two_tier ? "two tiers" : "one tier");
	symstore_save_tiers(ss->f, ss->memory, two_tier, until);
}

/* Calls back the callers that waited, in the order in which they came. */
static void symstore_answered(struct symstore *ss)
{
	struct symstore_wait *w;

	ss->question = ASK_NOTHING;
	sources_unref(take(ss->set));
	ss->source = NULL;
	ss->called = ss->waiting; /* a caller that is called back may wait for another answer */
	ss->waiting = NULL;
	while ((w = ss->called) != NULL) {
		ss->called = w->next;
		w->on = NULL;
		w->ready(w);
	}
}

/* The answer for index2.txt. Some servers send an HTML page instead of a 404; a page is not an index2.txt. */
static void index2_done(struct symstore *ss, const struct judgement *j)
{
	bool there = ss->reply.status >= 200 && ss->reply.status < 300 && ss->reply.error == 0;

	if (j->verdict == VERDICT_LATER || j->verdict == VERDICT_LOOP) {
		ss->trouble_until = clock_ms() + TROUBLE_MS;
		ss->trouble_error = j->error;
		snprintf(ss->trouble, sizeof(ss->trouble), "index2.txt: %.180s", j->text);
	} else {
		know_tiers(ss, there && strncasecmp(ss->reply.type, "text/html", 9) != 0);
	}
	symstore_answered(ss);
}

/* The index could not be downloaded. While there is no index, the store is asked for every file. */
static void index_failed(struct symstore *ss, const char *what)
{
	log_warn("source %s: its index: %s", ss->source->name, what);
	admin_unref(take(ss->building));
	ss->index_due = clock_ms() + AGAIN_MS;
	symstore_answered(ss);
}

static void index_complete(struct symstore *ss)
{
	struct admin_index *old;

	if (ss->bad_n)
		log_warn("source %s: %u transactions of its index could not be read: "
			"files that the index does not list are asked for, too",
			ss->source->name, ss->bad_n);
	log_debug(LOG_FETCH, "source %s lists %zu files in %u transactions", ss->source->name,
		admin_count(ss->building), ss->building_last);
	pthread_mutex_lock(&ss->f->lock);
	old = ss->known.admin;
	ss->known.admin = ss->bad_n ? NULL : admin_ref(ss->building);
	pthread_mutex_unlock(&ss->f->lock);
	admin_unref(old);
	admin_unref(ss->now.index);
	ss->now.index = take(ss->building);
	ss->now.last = ss->building_last;
	ss->now.when = clock_wall();
	if (!ss->bad_n)
		symstore_save_listing(ss->f, ss->memory, &ss->now);
	ss->index_due = clock_ms() + (ss->bad_n ? AGAIN_MS : INDEX_MS);
	symstore_answered(ss);
}

/* Requests the next transaction. There is one request at a time, because some servers refuse a client that sends
 * several at once. */
static void next_segment(struct symstore *ss)
{
	char path[40];

	if (ss->todo_at == ss->todo_n) {
		index_complete(ss);
		return;
	}
	snprintf(path, sizeof(path), "000Admin/%010u", ss->todo[ss->todo_at]);
	if (symstore_ask(ss, ASK_SEGMENT, path) < 0)
		index_failed(ss, "it cannot be asked for");
}

/* The answer for one transaction. A transaction that was deleted is missing on the server; that is not an error. */
static void segment_done(struct symstore *ss, const struct judgement *j)
{
	bool good = admin_end(ss->building) && ss->reply.error == 0;

	if (j->verdict != VERDICT_MISSING && (j->verdict != VERDICT_FOUND || !good)) {
		log_debug(LOG_FETCH, "source %s: 000Admin/%010u: %s", ss->source->name,
			ss->todo[ss->todo_at], j->text[0] ? j->text : "not an index");
		ss->bad[ss->bad_n++] = ss->todo[ss->todo_at];
		ss->in_a_row += j->verdict != VERDICT_FOUND;
	} else {
		ss->in_a_row = 0;
	}
	ss->todo_at++;
	if (ss->in_a_row >= TROUBLE_MOST) {
		ss->bad_n = 0;
		index_failed(ss, j->text);
		return;
	}
	next_segment(ss);
}

/* Plans to read the new transactions and those that failed; all of them if the server has another index. */
static int plan_segments(struct symstore *ss)
{
	bool more = ss->now.index && ss->building_last >= ss->now.last;
	int r = more ? admin_copy(&ss->building, ss->now.index) : admin_new(&ss->building);

	ss->todo_n = ss->todo_at = ss->in_a_row = 0;
	for (unsigned i = 0; more && i < ss->bad_n; i++)
		ss->todo[ss->todo_n++] = ss->bad[i];
	for (unsigned id = more ? ss->now.last + 1 : 1; id <= ss->building_last; id++)
		ss->todo[ss->todo_n++] = id;
	ss->bad_n = 0;
	return r;
}

static void lastid_done(struct symstore *ss, const struct judgement *j)
{
	if (ss->reply.status == 304 && ss->reply.error == 0 && ss->now.index) {
		ss->building_last = ss->now.last;
	} else if (j->verdict != VERDICT_FOUND || ss->reply.error) {
		index_failed(ss, j->text[0] ? j->text : err_text(ss->reply.error));
		return;
	} else if (admin_lastid(ss->lastid, ss->lastid_n, &ss->building_last) < 0) {
		index_failed(ss, "lastid.txt holds no number of transactions");
		return;
	}
	if (ss->reply.status != 304) {
		snprintf(ss->now.etag, sizeof(ss->now.etag), "%s", ss->reply.etag);
		snprintf(ss->now.modified, sizeof(ss->now.modified), "%s", ss->reply.modified);
	}
	if (plan_segments(ss) < 0)
		index_failed(ss, "out of memory");
	else
		next_segment(ss);
}

static int symstore_head(void *ctx, const struct net_reply *r)
{
	struct symstore *ss = ctx;

	ss->reply = *r;
	if (r->status < 300 && ss->question != ASK_INDEX2)
		return 0;
	return r->status >= 400 ? 0 : -ECANCELED;
}

static int symstore_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct symstore *ss = ctx;

	if (ss->question == ASK_SEGMENT)
		return admin_feed(ss->building, p, n);
	if (ss->lastid_n + n > sizeof(ss->lastid))
		return -EFBIG;
	memcpy(ss->lastid + ss->lastid_n, p, n);
	ss->lastid_n += n;
	return 0;
}

static void symstore_done(void *ctx, const struct net_reply *r)
{
	struct symstore *ss = ctx;
	struct judgement j;

	ss->transfer = NULL;
	if (ss->reply.status == 0 || (r->error < 0 && r->error != -ECANCELED))
		ss->reply = *r;
	source_judge(ss->source, &ss->reply, &j);
	breaker_tell(ss->f->breakers, ss->source->origin, clock_ms(), &j,
		ss->reply.retry_after > 0 ? (uint64_t)ss->reply.retry_after * 1000 : 0);
	if (ss->question == ASK_INDEX2)
		index2_done(ss, &j);
	else if (ss->question == ASK_LASTID)
		lastid_done(ss, &j);
	else
		segment_done(ss, &j);
}

static int add_condition(struct symstore *ss, struct net_req *req)
{
	char line[200] = "";

	if (ss->question != ASK_LASTID || !ss->now.index)
		return 0;
	if (ss->now.etag[0])
		snprintf(line, sizeof(line), "If-None-Match: %s", ss->now.etag);
	else if (ss->now.modified[0])
		snprintf(line, sizeof(line), "If-Modified-Since: %s", ss->now.modified);
	return line[0] ? source_add_header(req, line) : 0;
}

static int symstore_ask(struct symstore *ss, enum question q, const char *path)
{
	static const struct net_sink sink = {symstore_head, symstore_body, symstore_done};
	struct source_ask where;
	struct net_req req;
	int r = source_file(ss->source, path, &where);

	ss->question = q;
	ss->reply = (struct net_reply){0};
	ss->lastid_n = 0;
	if (r == 0)
		r = source_request(ss->source, &where, &req);
	source_ask_release(&where);
	if (r < 0)
		return r;
	if (!req.stall_ms || req.stall_ms > ss->f->opts.lookup_deadline_ms)
		req.stall_ms = ss->f->opts.lookup_deadline_ms;
	req.most = q == ASK_SEGMENT ? SEGMENT_MOST : 0;
	r = add_condition(ss, &req);
	req.rank = NET_FIRST;
	if (r == 0)
		r = net_get(ss->f->net, &req, &sink, ss, &ss->transfer);
	net_req_release(&req);
	if (r == 0)
		atomic_fetch_add(&ss->f->stats.requests, 1);
	return r;
}

/* ---- callers that want to know (net) ---------------------------------------------------- */

static void symstore_wait(struct symstore *ss, struct symstore_wait *w)
{
	struct symstore_wait **last = &ss->waiting;

	while (*last)
		last = &(*last)->next;
	*last = w;
	w->next = NULL;
	w->on = ss;
}

static void symstore_wait_remove(struct symstore_wait **list, struct symstore_wait *w)
{
	while (*list && *list != w)
		list = &(*list)->next;
	if (*list)
		*list = w->next;
}

void symstore_wait_stop(struct symstore_wait *w)
{
	if (!w->on)
		return;
	symstore_wait_remove(&w->on->waiting, w);
	symstore_wait_remove(&w->on->called, w);
	w->on = NULL;
}

static int symstore_begin(struct symstore *ss, const struct symstore_wait *w, enum question q, const char *path,
	char text[static 200])
{
	char why[240];
	int r;

	if (!breaker_may(ss->f->breakers, w->source->origin, clock_ms(), why)) {
		snprintf(text, 200, "%.190s", why);
		return breaker_error(ss->f->breakers, w->source->origin);
	}
	ss->set = sources_ref(w->set);
	ss->source = w->source;
	r = symstore_ask(ss, q, path);
	if (r == 0)
		return -EINPROGRESS;
	breaker_unheard(ss->f->breakers, w->source->origin);
	ss->question = ASK_NOTHING;
	sources_unref(take(ss->set));
	snprintf(text, 200, "%s", err_text(r));
	return r;
}

static struct symstore *symstore_for(const struct symstore_wait *w)
{
	LOCK_SCOPE(&w->f->lock);

	return symstore_of(w->f, w->source);
}

/* Takes the list that a worker loaded. After a reload, the list is due at once. */
static void take_loaded(struct symstore *ss)
{
	int64_t age;
	LOCK_SCOPE(&ss->f->lock);

	if (ss->loaded.index && !ss->now.index) {
		ss->now = ss->loaded;
		ss->loaded.index = NULL;
		ss->known.admin = admin_ref(ss->now.index);
		age = clock_wall() - ss->now.when;
		ss->index_due = age >= 0 && age < INDEX_MS / 1000
			? clock_ms() + INDEX_MS - (uint64_t)age * 1000
			: 0;
	}
	if (ss->renew)
		ss->index_due = 0;
	ss->renew = false;
}

/* The old index stays in use while a newer one is downloaded. */
bool symstore_before(struct symstore_wait *w, char text[static 200])
{
	struct symstore *ss;

	if (!w->source->o.has_index || !source_is_store(w->source) || !(ss = symstore_for(w)))
		return false;
	take_loaded(ss);
	if (ss->question == ASK_NOTHING && ss->index_due <= clock_ms())
		symstore_begin(ss, w, ASK_LASTID, "000Admin/lastid.txt", text);
	if (ss->question == ASK_NOTHING || ss->question == ASK_INDEX2 || ss->now.index)
		return false;
	symstore_wait(ss, w);
	return true;
}

/* Returns 1 if the store has two tiers, 0 if it has one tier, -ENOENT if the number is unknown. */
static int tiers_of(struct symstore *ss)
{
	LOCK_SCOPE(&ss->f->lock);

	return ss->tiers_until > clock_wall() ? ss->known.two_tier : -ENOENT;
}

void symstore_beside(struct symstore_wait *w, const struct source_facts *known)
{
	struct symstore *ss;
	char text[200];

	if (!wants_tiers(w->source) || known->two_tier || !(ss = symstore_for(w)) || tiers_of(ss) >= 0)
		return;
	if (ss->question == ASK_NOTHING && ss->trouble_until <= clock_ms())
		symstore_begin(ss, w, ASK_INDEX2, "index2.txt", text);
}

int symstore_after(struct symstore_wait *w, const struct source_facts *known, bool asked, char text[static 200])
{
	struct symstore *ss;
	int r;

	if (!wants_tiers(w->source) || known->two_tier || !(ss = symstore_for(w)))
		return 0;
	if (known->admin && !asked)
		return 0; /* no file was requested, because the index lists none for the request */
	r = tiers_of(ss);
	if (r >= 0)
		return r;
	if (ss->question != ASK_NOTHING && ss->question != ASK_INDEX2)
		return 0; /* the store is busy with its index; the next miss asks for index2.txt */
	if (ss->question == ASK_NOTHING && ss->trouble_until > clock_ms()) {
		snprintf(text, 200, "%s", ss->trouble);
		return ss->trouble_error;
	}
	r = ss->question == ASK_NOTHING ? symstore_begin(ss, w, ASK_INDEX2, "index2.txt", text) : -EINPROGRESS;
	if (r == -EINPROGRESS)
		symstore_wait(ss, w);
	return r;
}

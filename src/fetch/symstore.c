/* What is found out about symbol stores beside their configuration: whether they have two tiers
 * (index2.txt), and what they list (000Admin). A question is asked once for all who want to know,
 * and they wait: a flat store's "not there" is none before it is known that the store is flat.
 *
 * Facts belong to where a source is, not to the source: a reload changes nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight.h"
#include "source/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIERS_SECONDS 86400	  /* for so long it is known */
#define INDEX_MS (3600u * 1000)	  /* then lastid.txt is looked at again */
#define AGAIN_MS (600u * 1000)	  /* and after trouble */
#define TROUBLE_MS 5000		  /* who asks so soon after trouble hears of the same */
#define TROUBLE_MOST 3		  /* transactions in a row that could not be had: it is not the file */
#define SEGMENT_MOST (64u << 20)
#define LASTID_MOST 64

#define SAVED_MOST ((64u << 20) + 4096)

/* An index, and what makes it possible to ask only for what is newer. */
struct listing {
	struct admin_index *index; /* NULL: never had */
	unsigned last;		   /* its lastid */
	int64_t when;		   /* wall clock: when it was as the server's */
	char etag[128], modified[64];
};

enum question { ASK_NOTHING, ASK_INDEX2, ASK_LASTID, ASK_SEGMENT };

struct symstore {
	struct symstore *next;
	struct fetch *f;
	char memory[64];

	/* under f->lock; `admin` is a reference, and only there when it is complete */
	struct source_facts known;
	int64_t tiers_until; /* wall clock; 0: whether it has two is not known */
	struct listing loaded; /* by an earlier process; the net thread takes it */
	bool recalled;	       /* that was looked for */
	bool renew;	       /* the index is to be looked at, whatever its age */

	/* net thread only */
	struct sources *set; /* while something is asked: keeps `source` */
	const struct source *source;
	enum question question;
	struct transfer *transfer;
	struct net_reply reply;
	uint64_t trouble_until;
	int trouble_error;
	char trouble[200];

	struct listing now;
	uint64_t index_due;
	char lastid[LASTID_MOST];
	size_t lastid_n;
	struct admin_index *building;
	unsigned building_last;
	unsigned todo[ADMIN_SEGMENTS_MOST], todo_n, todo_at; /* transactions to read */
	unsigned bad[ADMIN_SEGMENTS_MOST], bad_n, in_a_row;  /* that could not be read */
};

/* ---- known ---------------------------------------------------------------------------- */

static struct symstore *symstore_find(struct fetch *f, const struct source *s)
{
	struct symstore *ss = f->symstores;

	while (ss && strcmp(ss->memory, s->memory) != 0)
		ss = ss->next;
	return ss;
}

/* Of this source; under f->lock. NULL: no memory. */
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
	known->two_tier = false;
}

static void symstore_drop(struct symstore *ss)
{
	admin_unref(ss->known.admin);
	admin_unref(ss->now.index);
	admin_unref(ss->loaded.index);
	admin_unref(ss->building);
	sources_unref(ss->set);
	free(ss);
}

/* What would come of it would be given to workers that have ended. */
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
		symstore_drop(ss);
	}
}

static bool wants_tiers(const struct source *s)
{
	return source_is_store(s) && s->layout->tiered;
}

/* ---- remembered in the store ------------------------------------------------------------ */

static void note_name(const char *memory, char out[static 80])
{
	snprintf(out, 80, "index2 %s", memory);
}

static void listing_name(const char *memory, char out[static 40])
{
	snprintf(out, 40, "000admin-%016" PRIx64, hash_mix(memory, strlen(memory)));
}

struct saving {
	struct fetch *f;
	char memory[64];
	struct listing what;
};

/* "symfs 000Admin 1 LAST WHEN HASH", ETag and date in a line each, then hashes. */
static void listing_write(void *ctx)
{
	struct saving *s = ctx;
	_cleanup_buf_ struct buf body = BUF_UP_TO(SAVED_MOST), all = BUF_UP_TO(SAVED_MOST);
	char name[40];
	int r = admin_dump(s->what.index, &body);

	if (r == 0)
		r = buf_addf(&all, "symfs 000Admin 1 %u %" PRId64 " %016" PRIx64 "\n%s\n%s\n",
			s->what.last, s->what.when, hash_mix(buf_text(&body), body.n), s->what.etag,
			s->what.modified);
	if (r == 0)
		r = buf_add(&all, buf_text(&body), body.n);
	listing_name(s->memory, name);
	if (r == 0)
		store_aside_write(s->f->store, name, buf_text(&all), all.n);
	admin_unref(s->what.index);
	free(s);
}

static void listing_save(struct symstore *ss)
{
	struct saving *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	*s = (struct saving){.f = ss->f, .what = ss->now};
	snprintf(s->memory, sizeof(s->memory), "%s", ss->memory);
	admin_ref(s->what.index);
	if (workers_post(ss->f->workers, listing_write, s) < 0) {
		admin_unref(s->what.index);
		free(s);
	}
}

/* The next line of at most room - 1 bytes, without its end. NULL: there is none. */
static const char *take_line(const char *p, const char *end, char *out, size_t room)
{
	const char *stop = memchr(p, '\n', (size_t)(end - p));

	if (!stop || (size_t)(stop - p) >= room)
		return NULL;
	memcpy(out, p, (size_t)(stop - p));
	out[stop - p] = '\0';
	return stop + 1;
}

static int listing_parse(const char *p, size_t n, struct listing *out)
{
	const char *end = p + n;
	char first[100];
	uint64_t hash;

	p = take_line(p, end, first, sizeof(first));
	if (!p || sscanf(first, "symfs 000Admin 1 %u %" SCNd64 " %" SCNx64, &out->last, &out->when,
			  &hash) != 3)
		return -EINVAL;
	p = take_line(p, end, out->etag, sizeof(out->etag));
	if (p)
		p = take_line(p, end, out->modified, sizeof(out->modified));
	if (!p || hash_mix(p, (size_t)(end - p)) != hash || out->last > ADMIN_SEGMENTS_MOST)
		return -EINVAL;
	return admin_load(&out->index, p, (size_t)(end - p));
}

static void listing_recall(struct fetch *f, const struct source *s)
{
	_cleanup_free_ void *text = NULL;
	struct listing got = {0};
	struct symstore *ss;
	char name[40];
	size_t n;

	LOCK_SCOPE(&f->recall_lock);
	pthread_mutex_lock(&f->lock);
	ss = symstore_of(f, s);
	if (ss && ss->recalled)
		ss = NULL;
	if (ss)
		ss->recalled = true;
	pthread_mutex_unlock(&f->lock);
	listing_name(s->memory, name);
	if (!ss || store_aside_read(f->store, name, SAVED_MOST, &text, &n) < 0 ||
		listing_parse(text, n, &got) < 0)
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
	char name[80], text[201];
	bool two_tier;
	int64_t until;

	if (s->o.has_index && source_is_store(s))
		listing_recall(f, s);
	if (!wants_tiers(s))
		return;
	note_name(s->memory, name);
	if (store_note(f->store, name, text) < 0 ||
		sscanf(text, "%*[yn] %" SCNd64, &until) != 1 || until <= clock_wall() ||
		until > clock_wall() + TIERS_SECONDS)
		return;
	two_tier = text[0] == 'y';
	LOCK_SCOPE(&f->lock);
	struct symstore *ss = symstore_of(f, s);

	if (!ss || ss->tiers_until > clock_wall())
		return;
	ss->known.two_tier = two_tier;
	ss->tiers_until = until;
}

struct note {
	struct fetch *f;
	char memory[64];
	bool two_tier;
	int64_t until;
};

static void note_write(void *ctx)
{
	struct note *n = ctx;
	char name[80], text[64];

	note_name(n->memory, name);
	snprintf(text, sizeof(text), "%c %" PRId64, n->two_tier ? 'y' : 'n', n->until);
	store_note_set(n->f->store, name, text);
	free(n);
}

static void know_tiers(struct symstore *ss, bool two_tier)
{
	struct note *n = calloc(1, sizeof(*n));
	int64_t until = clock_wall() + TIERS_SECONDS;

	pthread_mutex_lock(&ss->f->lock);
	ss->known.two_tier = two_tier;
	ss->tiers_until = until;
	pthread_mutex_unlock(&ss->f->lock);
	log_debug(LOG_FETCH, "source %s has %s", ss->source->name, two_tier ? "two tiers" : "one tier");
	if (!n)
		return;
	*n = (struct note){.f = ss->f, .two_tier = two_tier, .until = until};
	snprintf(n->memory, sizeof(n->memory), "%s", ss->memory);
	if (workers_post(ss->f->workers, note_write, n) < 0)
		free(n);
}

/* ---- asking (net) ----------------------------------------------------------------------- */

static int symstore_ask(struct symstore *ss, enum question q, const char *path);

/* Those who waited go on. */
static void symstore_answered(struct symstore *ss)
{
	ss->question = ASK_NOTHING;
	sources_unref(take(ss->set));
	ss->source = NULL;
	race_told(ss->f, ss);
}

static void symstore_trouble(struct symstore *ss, const struct judgement *j)
{
	ss->trouble_until = clock_ms() + TROUBLE_MS;
	ss->trouble_error = j->error;
	snprintf(ss->trouble, sizeof(ss->trouble), "index2.txt: %.180s", j->text);
}

/* A page for people is no index, whatever it is called. */
static void index2_done(struct symstore *ss, const struct judgement *j)
{
	bool there = ss->reply.status >= 200 && ss->reply.status < 300 && ss->reply.error == 0;

	if (j->verdict == VERDICT_LATER || j->verdict == VERDICT_LOOP)
		symstore_trouble(ss, j);
	else
		know_tiers(ss, there && strncasecmp(ss->reply.type, "text/html", 9) != 0);
	symstore_answered(ss);
}

/* An index that cannot be had hides nothing: the store is asked without it. */
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
		log_warn("source %s: %u transactions of its index could not be read: it is asked for "
			 "what is not listed, too",
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
		listing_save(ss);
	ss->index_due = clock_ms() + (ss->bad_n ? AGAIN_MS : INDEX_MS);
	symstore_answered(ss);
}

/* One after the other: some servers refuse who wants several at once. */
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

/* A transaction that was taken back is not there any more. */
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

/* What was not read yet, and what could not be; from the start when it is another index. */
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

/* ---- who wants to know (net) ------------------------------------------------------------ */

static int symstore_begin(struct symstore *ss, struct attempt *at, enum question q, const char *path)
{
	char why[240];
	int r;

	if (!breaker_may(ss->f->breakers, at->source->origin, clock_ms(), why)) {
		snprintf(at->text, sizeof(at->text), "%.190s", why);
		return breaker_error(ss->f->breakers, at->source->origin);
	}
	ss->set = sources_ref(at->flight->sources);
	ss->source = at->source;
	r = symstore_ask(ss, q, path);
	if (r == 0)
		return -EINPROGRESS;
	breaker_unheard(ss->f->breakers, at->source->origin);
	ss->question = ASK_NOTHING;
	sources_unref(take(ss->set));
	snprintf(at->text, sizeof(at->text), "%s", err_text(r));
	return r;
}

static struct symstore *symstore_for(struct attempt *at)
{
	struct fetch *f = at->flight->f;
	LOCK_SCOPE(&f->lock);

	return symstore_of(f, at->source);
}

/* What a worker brought, and what a reload wants. */
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

/* Its index, before it is asked for anything. An old one serves while a newer is read. */
bool symstore_before(struct attempt *at)
{
	struct symstore *ss;

	if (!at->source->o.has_index || !source_is_store(at->source) || !(ss = symstore_for(at)))
		return false;
	take_loaded(ss);
	if (ss->question == ASK_NOTHING && ss->index_due <= clock_ms())
		symstore_begin(ss, at, ASK_LASTID, "000Admin/lastid.txt");
	if (ss->question == ASK_NOTHING || ss->question == ASK_INDEX2 || ss->now.index)
		return false;
	at->waits = ss;
	return true;
}

/* 1: two, 0: one, -ENOENT: not known. */
static int tiers_of(struct symstore *ss)
{
	LOCK_SCOPE(&ss->f->lock);

	return ss->tiers_until > clock_wall() ? ss->known.two_tier : -ENOENT;
}

int symstore_after(struct attempt *at)
{
	struct symstore *ss;
	int r;

	if (!wants_tiers(at->source) || at->facts.two_tier || !(ss = symstore_for(at)))
		return 0;
	/* It was asked for nothing, because it lists nothing of the kind. */
	if (at->facts.admin && at->spelling == 0)
		return 0;
	r = tiers_of(ss);
	if (r >= 0)
		return r;
	if (ss->question != ASK_NOTHING && ss->question != ASK_INDEX2)
		return 0; /* whose index is being read anew: next time */
	if (ss->question == ASK_NOTHING && ss->trouble_until > clock_ms()) {
		snprintf(at->text, sizeof(at->text), "%s", ss->trouble);
		return ss->trouble_error;
	}
	r = ss->question == ASK_NOTHING ? symstore_begin(ss, at, ASK_INDEX2, "index2.txt") : -EINPROGRESS;
	if (r == -EINPROGRESS)
		at->waits = ss;
	return r;
}

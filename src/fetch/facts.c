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

struct facts {
	struct facts *next;
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

static struct facts *facts_find(struct fetch *f, const struct source *s)
{
	struct facts *fa = f->facts;

	while (fa && strcmp(fa->memory, s->memory) != 0)
		fa = fa->next;
	return fa;
}

/* Of this source; under f->lock. NULL: no memory. */
static struct facts *facts_of(struct fetch *f, const struct source *s)
{
	struct facts *fa = facts_find(f, s);

	if (fa)
		return fa;
	fa = calloc(1, sizeof(*fa));
	if (!fa)
		return NULL;
	fa->f = f;
	snprintf(fa->memory, sizeof(fa->memory), "%s", s->memory);
	fa->next = f->facts;
	f->facts = fa;
	return fa;
}

struct source_facts facts_get(struct fetch *f, const struct source *s)
{
	struct source_facts known = {0};
	LOCK_SCOPE(&f->lock);
	const struct facts *fa = facts_find(f, s);

	if (fa && fa->tiers_until > clock_wall())
		known.two_tier = fa->known.two_tier;
	if (fa && fa->known.admin)
		known.admin = admin_ref(fa->known.admin);
	return known;
}

void facts_put(struct source_facts *known)
{
	admin_unref(take(known->admin));
	known->two_tier = false;
}

static void facts_drop(struct facts *fa)
{
	admin_unref(fa->known.admin);
	admin_unref(fa->now.index);
	admin_unref(fa->loaded.index);
	admin_unref(fa->building);
	sources_unref(fa->set);
	free(fa);
}

/* What would come of it would be given to workers that have ended. */
void facts_stop(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	for (struct facts *fa = f->facts; fa; fa = fa->next)
		if (fa->transfer)
			transfer_cancel(take(fa->transfer));
}

void facts_free(struct fetch *f)
{
	while (f->facts) {
		struct facts *fa = f->facts;

		f->facts = fa->next;
		facts_drop(fa);
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

static void listing_save(struct facts *fa)
{
	struct saving *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	*s = (struct saving){.f = fa->f, .what = fa->now};
	snprintf(s->memory, sizeof(s->memory), "%s", fa->memory);
	admin_ref(s->what.index);
	if (workers_post(fa->f->workers, listing_write, s) < 0) {
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
	struct facts *fa;
	char name[40];
	size_t n;

	LOCK_SCOPE(&f->recall_lock);
	pthread_mutex_lock(&f->lock);
	fa = facts_of(f, s);
	if (fa && fa->recalled)
		fa = NULL;
	if (fa)
		fa->recalled = true;
	pthread_mutex_unlock(&f->lock);
	listing_name(s->memory, name);
	if (!fa || store_aside_read(f->store, name, SAVED_MOST, &text, &n) < 0 ||
		listing_parse(text, n, &got) < 0)
		return;
	pthread_mutex_lock(&f->lock);
	fa->loaded = got;
	pthread_mutex_unlock(&f->lock);
}

void facts_renew(struct fetch *f)
{
	LOCK_SCOPE(&f->lock);

	for (struct facts *fa = f->facts; fa; fa = fa->next)
		fa->renew = true;
}

void facts_recall(struct fetch *f, const struct source *s)
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
	struct facts *fa = facts_of(f, s);

	if (!fa || fa->tiers_until > clock_wall())
		return;
	fa->known.two_tier = two_tier;
	fa->tiers_until = until;
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

static void know_tiers(struct facts *fa, bool two_tier)
{
	struct note *n = calloc(1, sizeof(*n));
	int64_t until = clock_wall() + TIERS_SECONDS;

	pthread_mutex_lock(&fa->f->lock);
	fa->known.two_tier = two_tier;
	fa->tiers_until = until;
	pthread_mutex_unlock(&fa->f->lock);
	log_debug(LOG_FETCH, "source %s has %s", fa->source->name, two_tier ? "two tiers" : "one tier");
	if (!n)
		return;
	*n = (struct note){.f = fa->f, .two_tier = two_tier, .until = until};
	snprintf(n->memory, sizeof(n->memory), "%s", fa->memory);
	if (workers_post(fa->f->workers, note_write, n) < 0)
		free(n);
}

/* ---- asking (net) ----------------------------------------------------------------------- */

static int ask(struct facts *fa, enum question q, const char *path);

/* Those who waited go on. */
static void answered(struct facts *fa)
{
	fa->question = ASK_NOTHING;
	sources_unref(take(fa->set));
	fa->source = NULL;
	race_told(fa->f, fa);
}

static void trouble(struct facts *fa, const struct judgement *j)
{
	fa->trouble_until = clock_ms() + TROUBLE_MS;
	fa->trouble_error = j->error;
	snprintf(fa->trouble, sizeof(fa->trouble), "index2.txt: %.180s", j->text);
}

/* A page for people is no index, whatever it is called. */
static void index2_done(struct facts *fa, const struct judgement *j)
{
	bool there = fa->reply.status >= 200 && fa->reply.status < 300 && fa->reply.error == 0;

	if (j->verdict == VERDICT_LATER || j->verdict == VERDICT_LOOP)
		trouble(fa, j);
	else
		know_tiers(fa, there && strncasecmp(fa->reply.type, "text/html", 9) != 0);
	answered(fa);
}

/* An index that cannot be had hides nothing: the store is asked without it. */
static void index_failed(struct facts *fa, const char *what)
{
	log_warn("source %s: its index: %s", fa->source->name, what);
	admin_unref(take(fa->building));
	fa->index_due = clock_ms() + AGAIN_MS;
	answered(fa);
}

static void index_complete(struct facts *fa)
{
	struct admin_index *old;

	if (fa->bad_n)
		log_warn("source %s: %u transactions of its index could not be read: it is asked for "
			 "what is not listed, too",
			fa->source->name, fa->bad_n);
	log_debug(LOG_FETCH, "source %s lists %zu files in %u transactions", fa->source->name,
		admin_count(fa->building), fa->building_last);
	pthread_mutex_lock(&fa->f->lock);
	old = fa->known.admin;
	fa->known.admin = fa->bad_n ? NULL : admin_ref(fa->building);
	pthread_mutex_unlock(&fa->f->lock);
	admin_unref(old);
	admin_unref(fa->now.index);
	fa->now.index = take(fa->building);
	fa->now.last = fa->building_last;
	fa->now.when = clock_wall();
	if (!fa->bad_n)
		listing_save(fa);
	fa->index_due = clock_ms() + (fa->bad_n ? AGAIN_MS : INDEX_MS);
	answered(fa);
}

/* One after the other: some servers refuse who wants several at once. */
static void next_segment(struct facts *fa)
{
	char path[40];

	if (fa->todo_at == fa->todo_n) {
		index_complete(fa);
		return;
	}
	snprintf(path, sizeof(path), "000Admin/%010u", fa->todo[fa->todo_at]);
	if (ask(fa, ASK_SEGMENT, path) < 0)
		index_failed(fa, "it cannot be asked for");
}

/* A transaction that was taken back is not there any more. */
static void segment_done(struct facts *fa, const struct judgement *j)
{
	bool good = admin_end(fa->building) && fa->reply.error == 0;

	if (j->verdict != VERDICT_MISSING && (j->verdict != VERDICT_FOUND || !good)) {
		log_debug(LOG_FETCH, "source %s: 000Admin/%010u: %s", fa->source->name,
			fa->todo[fa->todo_at], j->text[0] ? j->text : "not an index");
		fa->bad[fa->bad_n++] = fa->todo[fa->todo_at];
		fa->in_a_row += j->verdict != VERDICT_FOUND;
	} else {
		fa->in_a_row = 0;
	}
	fa->todo_at++;
	if (fa->in_a_row >= TROUBLE_MOST) {
		fa->bad_n = 0;
		index_failed(fa, j->text);
		return;
	}
	next_segment(fa);
}

/* What was not read yet, and what could not be; from the start when it is another index. */
static int plan_segments(struct facts *fa)
{
	bool more = fa->now.index && fa->building_last >= fa->now.last;
	int r = more ? admin_copy(&fa->building, fa->now.index) : admin_new(&fa->building);

	fa->todo_n = fa->todo_at = fa->in_a_row = 0;
	for (unsigned i = 0; more && i < fa->bad_n; i++)
		fa->todo[fa->todo_n++] = fa->bad[i];
	for (unsigned id = more ? fa->now.last + 1 : 1; id <= fa->building_last; id++)
		fa->todo[fa->todo_n++] = id;
	fa->bad_n = 0;
	return r;
}

static void lastid_done(struct facts *fa, const struct judgement *j)
{
	if (fa->reply.status == 304 && fa->reply.error == 0 && fa->now.index) {
		fa->building_last = fa->now.last;
	} else if (j->verdict != VERDICT_FOUND || fa->reply.error) {
		index_failed(fa, j->text[0] ? j->text : err_text(fa->reply.error));
		return;
	} else if (admin_lastid(fa->lastid, fa->lastid_n, &fa->building_last) < 0) {
		index_failed(fa, "lastid.txt holds no number of transactions");
		return;
	}
	if (fa->reply.status != 304) {
		snprintf(fa->now.etag, sizeof(fa->now.etag), "%s", fa->reply.etag);
		snprintf(fa->now.modified, sizeof(fa->now.modified), "%s", fa->reply.modified);
	}
	if (plan_segments(fa) < 0)
		index_failed(fa, "out of memory");
	else
		next_segment(fa);
}

static int on_head(void *ctx, const struct net_reply *r)
{
	struct facts *fa = ctx;

	fa->reply = *r;
	if (r->status < 300 && fa->question != ASK_INDEX2)
		return 0;
	return r->status >= 400 ? 0 : -ECANCELED;
}

static int on_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct facts *fa = ctx;

	if (fa->question == ASK_SEGMENT)
		return admin_feed(fa->building, p, n);
	if (fa->lastid_n + n > sizeof(fa->lastid))
		return -EFBIG;
	memcpy(fa->lastid + fa->lastid_n, p, n);
	fa->lastid_n += n;
	return 0;
}

static void on_done(void *ctx, const struct net_reply *r)
{
	struct facts *fa = ctx;
	struct judgement j;

	fa->transfer = NULL;
	if (fa->reply.status == 0 || (r->error < 0 && r->error != -ECANCELED))
		fa->reply = *r;
	source_judge(fa->source, &fa->reply, &j);
	breaker_tell(fa->f->breakers, fa->source->origin, clock_ms(), &j,
		fa->reply.retry_after > 0 ? (uint64_t)fa->reply.retry_after * 1000 : 0);
	if (fa->question == ASK_INDEX2)
		index2_done(fa, &j);
	else if (fa->question == ASK_LASTID)
		lastid_done(fa, &j);
	else
		segment_done(fa, &j);
}

static int add_condition(struct facts *fa, struct net_req *req)
{
	char line[200] = "";

	if (fa->question != ASK_LASTID || !fa->now.index)
		return 0;
	if (fa->now.etag[0])
		snprintf(line, sizeof(line), "If-None-Match: %s", fa->now.etag);
	else if (fa->now.modified[0])
		snprintf(line, sizeof(line), "If-Modified-Since: %s", fa->now.modified);
	return line[0] ? source_add_header(req, line) : 0;
}

static int ask(struct facts *fa, enum question q, const char *path)
{
	static const struct net_sink sink = {on_head, on_body, on_done};
	struct source_ask where;
	struct net_req req;
	int r = source_file(fa->source, path, &where);

	fa->question = q;
	fa->reply = (struct net_reply){0};
	fa->lastid_n = 0;
	if (r == 0)
		r = source_request(fa->source, &where, &req);
	source_ask_release(&where);
	if (r < 0)
		return r;
	if (!req.stall_ms || req.stall_ms > fa->f->opts.lookup_deadline_ms)
		req.stall_ms = fa->f->opts.lookup_deadline_ms;
	req.most = q == ASK_SEGMENT ? SEGMENT_MOST : 0;
	r = add_condition(fa, &req);
	req.rank = NET_FIRST;
	if (r == 0)
		r = net_get(fa->f->net, &req, &sink, fa, &fa->transfer);
	net_req_release(&req);
	if (r == 0)
		atomic_fetch_add(&fa->f->stats.requests, 1);
	return r;
}

/* ---- who wants to know (net) ------------------------------------------------------------ */

static int begin(struct facts *fa, struct attempt *at, enum question q, const char *path)
{
	char why[240];
	int r;

	if (!breaker_may(fa->f->breakers, at->source->origin, clock_ms(), why)) {
		snprintf(at->text, sizeof(at->text), "%.190s", why);
		return breaker_error(fa->f->breakers, at->source->origin);
	}
	fa->set = sources_ref(at->flight->sources);
	fa->source = at->source;
	r = ask(fa, q, path);
	if (r == 0)
		return -EINPROGRESS;
	breaker_unheard(fa->f->breakers, at->source->origin);
	fa->question = ASK_NOTHING;
	sources_unref(take(fa->set));
	snprintf(at->text, sizeof(at->text), "%s", err_text(r));
	return r;
}

static struct facts *facts_for(struct attempt *at)
{
	struct fetch *f = at->flight->f;
	LOCK_SCOPE(&f->lock);

	return facts_of(f, at->source);
}

/* What a worker brought, and what a reload wants. */
static void take_loaded(struct facts *fa)
{
	int64_t age;
	LOCK_SCOPE(&fa->f->lock);

	if (fa->loaded.index && !fa->now.index) {
		fa->now = fa->loaded;
		fa->loaded.index = NULL;
		fa->known.admin = admin_ref(fa->now.index);
		age = clock_wall() - fa->now.when;
		fa->index_due = age >= 0 && age < INDEX_MS / 1000
			? clock_ms() + INDEX_MS - (uint64_t)age * 1000
			: 0;
	}
	if (fa->renew)
		fa->index_due = 0;
	fa->renew = false;
}

/* Its index, before it is asked for anything. An old one serves while a newer is read. */
bool facts_before(struct attempt *at)
{
	struct facts *fa;

	if (!at->source->o.has_index || !source_is_store(at->source) || !(fa = facts_for(at)))
		return false;
	take_loaded(fa);
	if (fa->question == ASK_NOTHING && fa->index_due <= clock_ms())
		begin(fa, at, ASK_LASTID, "000Admin/lastid.txt");
	if (fa->question == ASK_NOTHING || fa->question == ASK_INDEX2 || fa->now.index)
		return false;
	at->waits = fa;
	return true;
}

/* 1: two, 0: one, -ENOENT: not known. */
static int tiers_of(struct facts *fa)
{
	LOCK_SCOPE(&fa->f->lock);

	return fa->tiers_until > clock_wall() ? fa->known.two_tier : -ENOENT;
}

int facts_after(struct attempt *at)
{
	struct facts *fa;
	int r;

	if (!wants_tiers(at->source) || at->facts.two_tier || !(fa = facts_for(at)))
		return 0;
	/* It was asked for nothing, because it lists nothing of the kind. */
	if (at->facts.admin && at->spelling == 0)
		return 0;
	r = tiers_of(fa);
	if (r >= 0)
		return r;
	if (fa->question != ASK_NOTHING && fa->question != ASK_INDEX2)
		return 0; /* whose index is being read anew: next time */
	if (fa->question == ASK_NOTHING && fa->trouble_until > clock_ms()) {
		snprintf(at->text, sizeof(at->text), "%s", fa->trouble);
		return fa->trouble_error;
	}
	r = fa->question == ASK_NOTHING ? begin(fa, at, ASK_INDEX2, "index2.txt") : -EINPROGRESS;
	if (r == -EINPROGRESS)
		at->waits = fa;
	return r;
}

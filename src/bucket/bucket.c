/* Uploads the files of the store's outbox into a team's bucket. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/bucket.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "bucket/private.h"
#include "source/bucket-key.h"
#include "source/s3.h"
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUCKET_THREADS 4   /* uploads at the same time */
#define BUCKET_LOOK_MS 200 /* how often the outbox is looked at: other processes queue files, too */
#define BUCKET_KEEP_MS 600000
#define PAUSE_LEAST_MS 500 /* after an error of the store; doubles up to PAUSE_MOST_MS */
#define PAUSE_MOST_MS 30000
#define PAUSE_DEAD_MS 2000 /* since a pause of this length, callers do not wait for the store */
#define LATER_MOST 3600 /* seconds: the longest pause before a refused file is tried again; doubles with each try */
#define ENDS_MOST 300 /* seconds: as LATER_MOST, for the keys that the store refuses to remove */
#define ROWS 32

struct bucket {
	struct store *store;
	struct caller caller;
	char name[512]; /* the URL, for the outbox */
	pthread_t threads[BUCKET_THREADS];
	unsigned n_threads;
	atomic_bool stop;
	atomic_int conditions; /* as in struct bucket_stats */
	atomic_uint_fast64_t files, bytes, failures;

	/* of the first thread */
	unsigned ends_tries; /* rounds of bucket_end_keys() in which the store refused a key */
	uint64_t ends_after; /* clock_ms(): when the next round begins */
	uint64_t kept;	     /* clock_ms() of the last store_outbox_keep() */

	pthread_mutex_t lock;
	pthread_cond_t change; /* a file was uploaded or failed, or the bucket stops, or a caller waits */
	/* under lock */
	int64_t busy[BUCKET_THREADS]; /* the files that are being uploaded; 0: none */
	int64_t after;		      /* the files up to this were looked at in this round */
	uint64_t paused_until, pause_ms; /* clock_ms(): the store does not answer */
	bool dead;			 /* the store does not answer, and callers are not kept waiting for it */
	bool refuses_ends;		 /* the store refused to remove a key, and is asked again later */
	unsigned waiting;		 /* callers of bucket_wait() */
	char state[200];
};

/* ---- what is due -------------------------------------------------------------------------- */

static bool is_busy(const struct bucket *b, int64_t object)
{
	for (unsigned i = 0; i < BUCKET_THREADS; i++)
		if (b->busy[i] == object)
			return true;
	return false;
}

/* Takes a due file that no other thread uploads. Call it under the lock. */
static bool bucket_take(struct bucket *b, unsigned nth, struct outbox_row *out)
{
	struct outbox_row *rows = calloc(ROWS, sizeof(*rows));
	int n = rows ? store_outbox_next(b->store, b->after, rows, ROWS) : 0;
	bool found = false;

	if (n == -ENOTSUP)
		store_outbox_open(b->store, b->name); /* the index was rebuilt, and has no queue */
	for (int i = 0; !found && i < n; i++) {
		b->after = rows[i].object;
		if (is_busy(b, rows[i].object))
			continue;
		*out = rows[i];
		b->busy[nth] = out->object;
		found = true;
	}
	if (n <= 0)
		b->after = 0;
	free(rows);
	return found;
}

/* `r`: the error. A store that let a request time out has kept a thread waiting long enough. */
static void bucket_pause(struct bucket *b, int r, const char *why)
{
	LOCK_SCOPE(&b->lock);

	if (clock_ms() < b->paused_until)
		return;
	if (!b->pause_ms)
		log_warn("the bucket %s: %s; uploads are retried, and files stay queued", b->name, why);
	b->pause_ms = b->pause_ms ? MIN(2 * b->pause_ms, PAUSE_MOST_MS) : PAUSE_LEAST_MS;
	b->paused_until = clock_ms() + b->pause_ms;
	b->dead |= r == -ETIMEDOUT || b->pause_ms >= PAUSE_DEAD_MS;
	snprintf(b->state, sizeof(b->state), "%.190s", why);
}

static void bucket_answers(struct bucket *b)
{
	LOCK_SCOPE(&b->lock);

	if (b->pause_ms)
		log_info("the bucket %s answers again", b->name);
	b->pause_ms = b->paused_until = 0;
	b->dead = false;
	snprintf(b->state, sizeof(b->state), "ok");
}

/* ---- uploads ------------------------------------------------------------------------------ */

/* Whether an error says something about this file alone, not about the store. */
static bool is_of_file(int r)
{
	return r == -EINVAL || r == -EFBIG || r == -EUCLEAN || r == -EBUSY;
}

static void bucket_upload(struct bucket *b, const struct outbox_row *row)
{
	struct err e = {0};
	uint64_t sent;
	int r = put_file(&b->caller, b->store, row, atomic_load(&b->conditions) == 1, &sent, &e);

	if (r == 0) {
		store_outbox_done(b->store, row);
		atomic_fetch_add(&b->files, 1);
		atomic_fetch_add(&b->bytes, sent);
		bucket_answers(b);
		return;
	}
	/* A file that was removed meanwhile has left the queue, too. */
	if (r == -EINTR || (r == -EUCLEAN && !store_outbox_lists(b->store, row)))
		return;
	atomic_fetch_add(&b->failures, 1);
	if (is_of_file(r)) {
		log_warn("%.64s cannot be put into the bucket: %s; it stays queued", row->sha256, e.text);
		store_outbox_later(b->store, row, MIN(10ll << MIN(row->tries, 20u), LATER_MOST));
	} else {
		bucket_pause(b, r, e.text);
	}
}

/* Whether an error of put_end() says something about the key, or about the right to remove keys. */
static bool is_of_key(int r)
{
	return r == -EACCES || r == -EAGAIN || r == -EBADMSG || r == -EEXIST || r == -EINVAL;
}

static bool keep_is_due(struct bucket *b)
{
	uint64_t now = clock_ms();

	if (b->kept && now - b->kept < BUCKET_KEEP_MS)
		return false;
	b->kept = now;
	return true;
}

/* Ends one key in the bucket. 0, -errno of put_end() or of the store. */
static int bucket_end_key(struct bucket *b, const struct outgone_row *row, struct err *e)
{
	int64_t later;
	int r;

	if (!row->expired)
		return put_purge(&b->caller, b->store, row, e);
	r = put_end(&b->caller, row, &later, e);
	if (r < 0)
		return r;
	return later && later != INT64_MAX ? store_outgone_later(b->store, row, later)
		: store_outgone_done(b->store, row);
}

/* Removes from the bucket the keys that expired or were purged in this store. Keys that the store refuses to remove
 * are left for a later round, and do not hold up the uploads. A round of many keys can take longer than queued files
 * are protected from eviction, so it renews that time. */
static void bucket_end_keys(struct bucket *b)
{
	struct err e = {0}, refusal = {0};
	char after[KEY_TEXT] = "";
	struct outgone_row row;
	unsigned refused = 0;
	int r = 0;

	while (r == 0 && !atomic_load(&b->stop) && store_outgone_next(b->store, after, &row) == 0) {
		if (keep_is_due(b))
			store_outbox_keep(b->store);
		r = bucket_end_key(b, &row, &e);
		if (is_of_key(r)) {
			refused++;
			refusal = e;
			memset(&e, 0, sizeof(e));
			r = 0;
		}
		memcpy(after, row.canon, sizeof(after));
	}
	if (refused && !b->ends_tries)
		log_warn("the bucket %s: %s; keys stay in it, and their removal is tried again", b->name,
			refusal.text);
	if (refused) {
		b->ends_after = clock_ms() + 1000u * MIN(10u << MIN(b->ends_tries, 10u), ENDS_MOST);
		b->ends_tries++;
	} else if (r == 0) {
		b->ends_tries = 0;
	}
	pthread_mutex_lock(&b->lock);
	b->refuses_ends = refused > 0;
	pthread_mutex_unlock(&b->lock);
	if (r < 0 && r != -EINTR)
		bucket_pause(b, r, e.text[0] ? e.text : call_text(r));
}

/* Tells the bucket of uses. A use that the store refuses is dropped: a later one renews the file as well. */
static void bucket_tell_uses(struct bucket *b)
{
	struct use_row use;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ROWS && !atomic_load(&b->stop) && store_uses_next(b->store, &use) == 0;
		i++) {
		r = put_use(&b->caller, &use, atomic_load(&b->conditions) == 1);
		if (r == 0 || is_of_key(r))
			r = store_uses_done(b->store, &use);
	}
	if (r < 0 && r != -EINTR)
		bucket_pause(b, r, call_text(r));
}

static void bucket_probe(struct bucket *b)
{
	struct err e = {0};
	int r = probe_conditions(&b->caller, &e);

	if (r < 0 && r != -EINTR)
		bucket_pause(b, r, e.text);
	if (r < 0)
		return;
	bucket_answers(b);
	atomic_store(&b->conditions, r);
	if (!r)
		log_info("the bucket %s ignores conditions: key objects are read before they are written", b->name);
}

static void bucket_sleep(struct bucket *b)
{
	struct timespec until = clock_after(CLOCK_REALTIME, BUCKET_LOOK_MS);

	pthread_cond_timedwait(&b->change, &b->lock, &until);
}

/* Whether bucket_end_keys() has a key to remove. Called as often as the outbox is read. */
static bool has_ended(struct bucket *b)
{
	struct outgone_row row;

	return clock_ms() >= b->ends_after && store_outgone_next(b->store, "", &row) == 0;
}

static bool has_uses(struct bucket *b)
{
	struct use_row use;

	return store_uses_next(b->store, &use) == 0;
}

struct uploader {
	struct bucket *b;
	unsigned nth;
};

static void *bucket_thread(void *ctx)
{
	struct uploader u = *(struct uploader *)ctx;
	struct bucket *b = u.b;
	struct outbox_row row;

	free(ctx);
	pthread_mutex_lock(&b->lock);
	while (!atomic_load(&b->stop)) {
		bool keep = u.nth == 0 && keep_is_due(b), probe = false, found = false, ends = false, uses = false;

		if (clock_ms() >= b->paused_until && atomic_load(&b->conditions) < 0)
			probe = u.nth == 0;
		else if (clock_ms() >= b->paused_until)
			found = bucket_take(b, u.nth, &row);
		ends = u.nth == 0 && !probe && clock_ms() >= b->paused_until && has_ended(b);
		uses = u.nth == 1 && !probe && atomic_load(&b->conditions) >= 0 && clock_ms() >= b->paused_until &&
			has_uses(b);
		if (!keep && !probe && !found && !ends && !uses) {
			bucket_sleep(b);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		if (keep)
			store_outbox_keep(b->store);
		if (probe)
			bucket_probe(b);
		if (ends)
			bucket_end_keys(b);
		if (uses)
			bucket_tell_uses(b);
		if (found)
			bucket_upload(b, &row);
		pthread_mutex_lock(&b->lock);
		b->busy[u.nth] = 0;
		pthread_cond_broadcast(&b->change);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* ---- beginning and end -------------------------------------------------------------------- */

const struct source *bucket_find(const struct sources *so)
{
	for (unsigned i = 0; i < so->n; i++)
		if (source_is_bucket(so->list[i]))
			return so->list[i];
	return NULL;
}

bool bucket_is_writable(const struct sources *so)
{
	const struct source *s = bucket_find(so);

	return s && !((const struct s3_opts *)s->own)->read_only;
}

static int start_threads(struct bucket *b)
{
	for (unsigned i = 0; i < BUCKET_THREADS; i++) {
		struct uploader *u = malloc(sizeof(*u));
		int r = u ? 0 : ENOMEM;

		if (u) {
			*u = (struct uploader){b, i};
			r = pthread_create(&b->threads[i], NULL, bucket_thread, u);
		}
		if (r) {
			free(u);
			return -r;
		}
		b->n_threads++;
	}
	return 0;
}

static void name_self(char *out, size_t room, struct store *st)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(out, room, "%s %.500s", host, store_dir(st));
}

static struct bucket *bucket_new(struct store *st, struct sources *so)
{
	struct bucket *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->change, NULL);
	b->store = st;
	pthread_rwlock_init(&b->caller.lock, NULL);
	b->caller.sources = sources_ref(so);
	b->caller.source = bucket_find(so);
	b->caller.stop = &b->stop;
	name_self(b->caller.self, sizeof(b->caller.self), st);
	atomic_init(&b->conditions, -1);
	snprintf(b->state, sizeof(b->state), "not asked yet");
	snprintf(b->name, sizeof(b->name), "%.500s", b->caller.source->shown);
	return b;
}

int bucket_start(struct bucket **out, struct store *st, struct sources *so, struct err *e)
{
	struct net_opts no = {.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION};
	struct bucket *b;
	int r;

	if (!bucket_is_writable(so))
		return -ENOENT;
	b = bucket_new(st, so);
	if (!b)
		return err_set(e, -ENOMEM, "out of memory");
	r = store_outbox_open(st, b->name);
	if (r < 0)
		err_set(e, r, "the queue of the bucket: %s", err_text(r));
	if (r == 0)
		r = net_start(&b->caller.net, &no, e);
	if (r == 0 && (r = start_threads(b)) < 0)
		err_set(e, r, "cannot start threads: %s", err_text(r));
	if (r < 0) {
		bucket_stop(b);
		return r;
	}
	*out = b;
	return 0;
}

int bucket_renew(struct bucket *b, struct sources *so)
{
	const struct source *s = bucket_find(so);
	struct sources *old;

	if (!bucket_is_writable(so) || strcmp(s->shown, b->name) != 0)
		return -EINVAL;
	pthread_rwlock_wrlock(&b->caller.lock);
	old = b->caller.sources;
	b->caller.sources = sources_ref(so);
	b->caller.source = s;
	pthread_rwlock_unlock(&b->caller.lock);
	sources_unref(old);
	return 0;
}

void bucket_stop(struct bucket *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	atomic_store(&b->stop, true);
	pthread_cond_broadcast(&b->change);
	while (b->waiting)
		pthread_cond_wait(&b->change, &b->lock);
	pthread_mutex_unlock(&b->lock);
	for (unsigned i = 0; i < b->n_threads; i++)
		pthread_join(b->threads[i], NULL);
	if (b->caller.net)
		net_stop(b->caller.net);
	sources_unref(b->caller.sources);
	pthread_rwlock_destroy(&b->caller.lock);
	pthread_cond_destroy(&b->change);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* Waits until the queue does not have the key. `ends`: the queue of removals. */
static int wait_for(struct bucket *b, const struct key *k, bool ends, unsigned ms)
{
	uint64_t until = clock_ms() + ms;
	char canon[KEY_TEXT];
	bool queued = true, refuses = false;
	LOCK_SCOPE(&b->lock);

	b->waiting++;
	pthread_cond_broadcast(&b->change); /* the threads look into the outbox at once */
	while (!atomic_load(&b->stop) &&
		(queued = ends ? store_outgone_has(b->store, key_canon(k, canon)) : store_outbox_has(b->store, k)) &&
		!(refuses = b->dead || (ends && b->refuses_ends)) && clock_ms() < until)
		bucket_sleep(b);
	b->waiting--;
	pthread_cond_broadcast(&b->change);
	return !queued ? 0 : atomic_load(&b->stop) && !ends ? -ECANCELED : refuses ? -EHOSTUNREACH : -ETIMEDOUT;
}

int bucket_wait(struct bucket *b, const struct key *k, unsigned ms)
{
	return wait_for(b, k, false, ms);
}

/* Gets a key object as a reader asks: by id and name, and then by the id alone. */
static int find_key(struct bucket *b, const struct key *k, struct key *found, struct buf *text)
{
	char digest[SHA256_TEXT], name[BUCKET_NAME];
	int r = -ENOENT;

	if (key_by_name(k, found)) {
		bucket_key_digest(found, digest);
		r = call_get(&b->caller, bucket_key_name(digest, name), text);
	}
	if (r == -ENOENT) {
		*found = *k;
		bucket_key_digest(found, digest);
		r = call_get_sure(&b->caller, bucket_key_name(digest, name), text);
	}
	return r;
}

int bucket_added(struct bucket *b, const struct key *k)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	struct bucket_key had;
	enum hold_rank rank = HELD_NOT;
	struct key found;
	int r = find_key(b, k, &found, &text);

	if (r == 0 && bucket_key_parse(buf_text(&text), text.n, &had) == 0)
		r = end_rank(&b->caller, had.sha256, &rank);
	if (r == 0)
		return rank == HELD_ADDED;
	return r == -ENOENT || r == -EFBIG ? 0 : r;
}

int bucket_purge(struct bucket *b, const struct key *k, const char *why, struct key *found)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(BUCKET_KEY_MOST);
	int r = find_key(b, k, found, &text);

	/* A malformed key object is removed, too. */
	return r == 0 || r == -EFBIG ? store_bury(b->store, found, why) : r;
}

int bucket_wait_end(struct bucket *b, const struct key *k, unsigned ms)
{
	return wait_for(b, k, true, ms);
}

void bucket_stats(struct bucket *b, struct bucket_stats *out)
{
	memset(out, 0, sizeof(*out));
	store_outbox_count(b->store, &out->queue);
	out->files = atomic_load(&b->files);
	out->bytes = atomic_load(&b->bytes);
	out->failures = atomic_load(&b->failures);
	out->requests = atomic_load(&b->caller.requests);
	out->conditions = atomic_load(&b->conditions);
	LOCK_SCOPE(&b->lock);
	memcpy(out->state, b->state, sizeof(out->state));
}

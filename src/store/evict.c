/* Eviction: removes the least recently used files until there is room. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/evict.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/settle.h"
#include "store/sparse-file.h"

#include <inttypes.h>
#include <sys/statvfs.h>

#define BATCH 64
#define ROOM_AHEAD (16 << 20) /* bytes that eviction frees beyond the need, where it can */
#define BLOCKS_MS 1000	      /* an idle download closes its evicted file within this time */

/* ---- eviction ------------------------------------------------------------------------- */

/* One round of eviction, under the write lock. */
struct eviction {
	struct session *ses;
	int64_t except;		 /* the number of an object that stays; 0: no such object */
	struct index_place past; /* sparse files up to here were removed, or are in use */
};
#define EVICTION(session) ((struct eviction){.ses = (session), .past = INDEX_PLACE_FIRST})

struct batch {
	struct index_object victims[BATCH];
	bool sparse[BATCH];
	unsigned n;
	uint64_t bytes;
};

/* Removes a sparse file before its row: if the process is killed in between, a sweep drops the row. */
static int take_sparse(struct eviction *v, struct index_object *o, int64_t used, bool *taken)
{
	bool held;
	int r = sparse_file_remove_idle(v->ses->s, o->sha256, &o->size, &held);

	v->past = (struct index_place){used, o->id};
	if (r == 0 && held)
		atomic_store(&v->ses->s->held_until, clock_ms() + BLOCKS_MS);
	*taken = r == 0;
	return r == 0 ? index_sparse_drop(v->ses->ix, o->sha256) : 0;
}

/* Chooses victims and takes them out of the index, in one transaction. */
static int choose(struct eviction *v, uint64_t want, struct batch *b)
{
	struct session *ses = v->ses;
	int64_t now = store_past(ses->s), used;
	int r;

	b->n = 0;
	b->bytes = 0;
	r = index_begin(ses->ix);
	while (r == 0 && b->n < BATCH && b->bytes < want) {
		struct index_object *o = &b->victims[b->n];
		bool *sparse = &b->sparse[b->n], taken = true;

		r = index_victim(ses->ix, now, v->except, &v->past, o, sparse, &used);
		if (r < 0)
			break;
		r = *sparse ? take_sparse(v, o, used, &taken) : index_object_remove(ses->ix, o);
		if (!taken)
			continue;
		b->n++;
		b->bytes += o->size;
	}
	if (r == -ENOENT)
		r = 0;
	return index_end(ses->ix, r);
}

/* Evicts the least recently used files until `want` bytes are freed, or no further file may be evicted. */
static int evict_bytes(struct eviction *v, uint64_t want)
{
	_cleanup_free_ struct batch *b = calloc(1, sizeof(*b));
	struct session *ses = v->ses;
	bool full = false;

	if (!b)
		return -ENOMEM;
	for (uint64_t gone = 0; gone < want; gone += b->bytes) {
		int r = choose(v, want - gone, b);

		/* If the disk has no room even for the index's log, the files are removed first, and their
		 * rows later. */
		if (r == -ENOSPC && b->n)
			atomic_store(&ses->s->lost, true);
		for (unsigned i = 0; r == -ENOSPC && i < b->n; i++)
			if (!b->sparse[i])
				dir_blob_remove(ses->s->dirfd, b->victims[i].sha256);
		if (r == -ENOSPC && b->n && !full) {
			full = true;
			b->bytes = 0;
			continue;
		}
		if (r == 0 && b->n)
			r = session_settle(ses);
		if (r < 0 || b->n == 0)
			return r;
		log_debug(LOG_STORE, "evicted %u artifacts, %llu bytes", b->n,
			(unsigned long long)b->bytes);
	}
	return 0;
}

int evict_to_quota(struct session *ses, int64_t except)
{
	struct eviction v = EVICTION(ses);
	uint64_t bytes;
	int r;

	v.except = except;
	expire_some(ses);
	if (ses->s->quota == 0)
		return 0;
	r = index_bytes(ses->ix, &bytes);
	if (r < 0 || bytes <= ses->s->quota)
		return r;
	return evict_bytes(&v, bytes - ses->s->quota);
}

/* Bytes of sparse files on disk that the index does not count yet. */
static uint64_t sparses_uncommitted(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes, n = 0;

	while (index_sparse_next(ix, row.id, &row) == 0)
		if (sparse_file_is_sound(s, row.name, row.validator.size, &bytes) && bytes > row.allocated)
			n += bytes - row.allocated;
	return n;
}

/* Whether eviction can free enough. If other programs filled the disk, eviction does not help; then nothing
 * is evicted. */
static bool would_help(struct session *ses, uint64_t need)
{
	uint64_t bytes = 0, kept = 0, missing = room_missing(ses->s, need);

	if (missing == 0)
		return true;
	if (index_bytes(ses->ix, &bytes) < 0 || index_kept_bytes(ses->ix, store_past(ses->s), &kept) < 0)
		return false;
	return bytes - MIN(kept, bytes) + sparses_uncommitted(ses->s, ses->ix) >= missing;
}

static int free_floor(struct eviction *v, uint64_t need)
{
	struct session *ses = v->ses;
	uint64_t before, after = room_missing(ses->s, need);
	int r = 0;

	if (!would_help(ses, need))
		return -ENOSPC;
	/* Removing a file that a process has open frees no space: stop when a round frees nothing. */
	do {
		before = after;
		r = before ? evict_bytes(v, before) : 0;
		after = room_missing(ses->s, need);
	} while (r == 0 && after && after < before);
	return r;
}

static void make_room(struct store *s, uint64_t need)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses)) {
		struct eviction v = EVICTION(&ses);

		ses.r = free_floor(&v, would_help(&ses, need + ROOM_AHEAD) ? need + ROOM_AHEAD : need);
	}
	if (ses.r < 0)
		log_debug(LOG_STORE, "nothing could be evicted: %s", err_text(ses.r));
}

int evict_make_room(struct store *s, uint64_t need)
{
	make_room(s, need);
	/* A download may still hold the blocks of its evicted file. The wait does not hold the write lock,
	 * because the download may need that lock before it closes the file. */
	while (!room_has(s, need) && clock_ms() < atomic_load(&s->held_until))
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	return room_has(s, need) ? 0 : -ENOSPC;
}

int store_make_room(struct store *s, uint64_t need, struct err *e)
{
	return evict_make_room(s, need) < 0 ? room_refuse(s, e) : 0;
}

static int trim_in(struct session *ses)
{
	struct eviction v = EVICTION(ses);
	int r;

	r = index_begin(ses->ix);
	if (r == 0)
		r = sweep(ses->s, ses->ix);
	if (r == 0)
		r = index_misses_expire(ses->ix, clock_wall());
	if (r == 0)
		r = index_commit(ses->ix);
	if (r == 0 || r == -ENOSPC) {
		index_rollback(ses->ix);
		r = evict_to_quota(ses, 0);
	}
	if (r == 0 && would_help(ses, 0))
		r = free_floor(&v, 0);
	return r;
}

int store_trim(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	drafts_clean(s->dirfd, s->dir);
	while (session_next(&ses))
		ses.r = trim_in(&ses);
	sparses_clean(s); /* after the sweep, which drops rows */
	return ses.r;
}

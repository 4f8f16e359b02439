/* Making room. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/evict.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/files/partial.h"
#include "store/room.h"
#include "store/sparse-file.h"
#include "store/sparse-rows.h"
#include "store/sweep.h"

#define BATCH 64
#define ROOM_AHEAD (16 << 20) /* what eviction frees beyond the need, where it can */
#define BLOCKS_MS 1000	      /* a download that lost its readers and its file closes it in that time */

/* One round of eviction, in a turn. */
struct eviction {
	struct turn *t;
	int64_t except;		 /* the number of an object that stays; 0: none */
	struct index_place past; /* files with holes up to here are gone, or are read just now */
};
#define EVICTION(turn) ((struct eviction){.t = (turn), .past = INDEX_PLACE_FIRST})

struct batch {
	struct index_object victims[BATCH];
	bool sparse[BATCH];
	unsigned n;
	uint64_t bytes;
};

/* Its file goes before its row: a row without a file is dropped when it is looked at. */
static int take_sparse(struct eviction *v, struct index_object *o, int64_t used, bool *taken)
{
	bool held;
	int r = sparse_file_remove_idle(v->t->s, o->sha256, &o->size, &held);

	v->past = (struct index_place){used, o->id};
	if (r == 0 && held)
		atomic_store(&v->t->s->held_until, clock_ms() + BLOCKS_MS);
	*taken = r == 0;
	return r == 0 ? index_sparse_drop(v->t->ix, o->sha256) : 0;
}

static int take_blob(struct turn *t, const struct index_object *o)
{
	int r = index_intent_add(t->ix, o->sha256, true);

	return r == 0 ? index_object_drop(t->ix, o->id) : r;
}

/* Chooses victims and takes them out of the index, in one transaction. */
static int choose(struct eviction *v, uint64_t want, struct batch *b)
{
	struct turn *t = v->t;
	int64_t now = clock_wall(), used;
	int r;

	b->n = 0;
	b->bytes = 0;
	r = index_begin(t->ix);
	while (r == 0 && b->n < BATCH && b->bytes < want) {
		struct index_object *o = &b->victims[b->n];
		bool *sparse = &b->sparse[b->n], taken = true;

		r = index_victim(t->ix, now, v->except, &v->past, o, sparse, &used);
		if (r < 0)
			break;
		r = *sparse ? take_sparse(v, o, used, &taken) : take_blob(t, o);
		if (!taken)
			continue;
		b->n++;
		b->bytes += o->size;
	}
	if (r == -ENOENT)
		r = 0;
	if (r == 0)
		return index_commit(t->ix);
	index_rollback(t->ix);
	return r;
}

/* Drops the least recently used until they were `want` bytes, or none is left that may go. */
static int evict_bytes(struct eviction *v, uint64_t want)
{
	_cleanup_free_ struct batch *b = calloc(1, sizeof(*b));
	struct turn *t = v->t;
	bool full = false;

	if (!b)
		return -ENOMEM;
	for (uint64_t gone = 0; gone < want; gone += b->bytes) {
		int r = choose(v, want - gone, b);

		/* No room even for the log of the index: the files go first, then their rows. */
		if (r == -ENOSPC && b->n)
			atomic_store(&t->s->lost, true);
		for (unsigned i = 0; r == -ENOSPC && i < b->n; i++)
			if (!b->sparse[i])
				dir_blob_remove(t->s->dirfd, b->victims[i].sha256);
		if (r == -ENOSPC && b->n && !full) {
			full = true;
			b->bytes = 0;
			continue;
		}
		if (r == 0 && b->n)
			r = turn_settle(t);
		if (r < 0 || b->n == 0)
			return r;
		log_debug(LOG_STORE, "evicted %u artifacts, %llu bytes", b->n,
			(unsigned long long)b->bytes);
	}
	return 0;
}

int evict_to_quota(struct turn *t, int64_t except)
{
	struct eviction v = EVICTION(t);
	uint64_t bytes;
	int r;

	v.except = except;
	if (t->s->quota == 0)
		return 0;
	r = index_bytes(t->ix, &bytes);
	if (r < 0 || bytes <= t->s->quota)
		return r;
	return evict_bytes(&v, bytes - t->s->quota);
}

/* On a disk that others filled, all that may be evicted is not enough: then it is kept. */
static bool would_help(struct turn *t, uint64_t need)
{
	uint64_t ours = 0, pinned = 0, missing = room_missing(t->s, need);

	if (missing == 0)
		return true;
	if (index_bytes(t->ix, &ours) < 0 || index_pinned_bytes(t->ix, &pinned) < 0)
		return false;
	return ours - MIN(pinned, ours) + sparses_uncommitted(t->s, t->ix) >= missing;
}

static int free_floor(struct eviction *v, uint64_t need)
{
	struct turn *t = v->t;
	uint64_t before, after = room_missing(t->s, need);
	int r = 0;

	if (!would_help(t, need))
		return -ENOSPC;
	/* Files that somebody holds open give nothing back: stop when that helps no more. */
	do {
		before = after;
		r = before ? evict_bytes(v, before) : 0;
		after = room_missing(t->s, need);
	} while (r == 0 && after && after < before);
	return r;
}

static void make_room(struct store *s, uint64_t need)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	while (turn_next(&t)) {
		struct eviction v = EVICTION(&t);

		t.r = free_floor(&v, would_help(&t, need + ROOM_AHEAD) ? need + ROOM_AHEAD : need);
	}
	if (t.r < 0)
		log_debug(LOG_STORE, "nothing could be evicted: %s", err_text(t.r));
}

int evict_make_room(struct store *s, uint64_t need)
{
	make_room(s, need);
	/* Blocks may be on their way back. Outside of the turn: that download may want a turn first. */
	while (!room_has(s, need) && clock_ms() < atomic_load(&s->held_until))
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	return room_has(s, need) ? 0 : -ENOSPC;
}

int store_make_room(struct store *s, uint64_t need, struct err *e)
{
	return evict_make_room(s, need) < 0 ? room_refuse(s, e) : 0;
}

static int trim_in(struct turn *t)
{
	struct eviction v = EVICTION(t);
	int r;

	r = index_begin(t->ix);
	if (r == 0)
		r = sweep(t->s, t->ix);
	if (r == 0)
		r = index_misses_expire(t->ix, clock_wall());
	if (r == 0)
		r = index_commit(t->ix);
	if (r == 0 || r == -ENOSPC) {
		index_rollback(t->ix);
		r = evict_to_quota(t, 0);
	}
	if (r == 0 && would_help(t, 0))
		r = free_floor(&v, 0);
	return r;
}

int store_trim(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	partial_clean(s->dirfd, s->dir);
	while (turn_next(&t))
		t.r = trim_in(&t);
	sparses_clean(s); /* after the sweep, which drops rows */
	return t.r;
}

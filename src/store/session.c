/* The store's write lock, across threads and processes, and recovery from a damaged index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/evict.h"
#include "store/files/dir.h"
#include "store/settle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define USE_EVERY 3600 /* seconds; recording every use would turn every read into a write */
#define DUE_MS 30000
#define WAIT_MS 60000	    /* the longest wait for the write lock; only a rebuild holds it for long */
#define SWEEP_ROOM (1 << 20) /* free bytes on disk that a sweep needs for its transaction */
#define CHECK_EVERY_MS 1000 /* how often a reader asks whether the index is still at its place */

static bool is_late(struct store *s, uint64_t end)
{
	uint64_t hurry = atomic_load(&s->hurry);

	return clock_ms() > (hurry ? MIN(hurry, end) : end);
}

static int flock_bounded(struct store *s, int dirfd)
{
	uint64_t end = clock_ms() + WAIT_MS;
	struct timespec pause = {.tv_nsec = 500000};

	while (flock(dirfd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return -errno;
		if (is_late(s, end))
			return -EBUSY;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 16000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

static int lock_store(struct store *s)
{
	int r;

	pthread_mutex_lock(&s->write_lock);
	r = flock_bounded(s, s->dirfd);
	if (r < 0)
		pthread_mutex_unlock(&s->write_lock);
	return r;
}

static void unlock_store(struct store *s)
{
	flock(s->dirfd, LOCK_UN);
	pthread_mutex_unlock(&s->write_lock);
}

/* A reference to the index of this moment; NULL: none is open. */
static struct index *session_index(struct store *s)
{
	LOCK_SCOPE(&s->index_lock);

	return s->index ? index_ref(s->index) : NULL;
}

static void replace_index(struct store *s, struct index *ix)
{
	struct index *old;

	{
		LOCK_SCOPE(&s->index_lock);

		old = s->index;
		s->index = ix;
	}
	index_unref(old);
}

/* Opens the directory at the store's path under the same descriptor number, with its write lock held.
 * Drafts and the locks of downloads stay in the old directory. */
static int replace_dir(struct store *s, struct err *e)
{
	_cleanup_close_ int fd = -1;
	int r;

	r = dir_open(&fd, s->dir, e);
	if (r == 0)
		r = flock_bounded(s, fd);
	if (r == 0)
		r = flights_reopen(s, fd, e);
	if (r == 0 && dup3(fd, s->dirfd, O_CLOEXEC) < 0)
		r = -errno;
	return r;
}

/* If the store's path leads to another directory now, opens that directory. The caller holds the write
 * lock. */
static int renew_dir(struct store *s, struct err *e)
{
	struct err own = {0};
	int r;

	if (!dir_is_elsewhere(s->dirfd, s->dir))
		return 0;
	r = replace_dir(s, &own);
	if (r == 0) {
		log_warn("%s: the directory was removed or replaced; using the directory that is there now",
			s->dir);
		atomic_store(&s->broken, false);
		return 0;
	}
	if (!atomic_exchange(&s->broken, true))
		log_error("%s: the directory was removed, and cannot be made anew: %s", s->dir,
			own.text[0] ? own.text : err_text(r));
	return err_set(e, -EIO, "%s", own.text[0] ? own.text : err_text(r));
}

/* Makes the store use the index file at its path. The caller holds the write lock. A `bad` or missing index
 * is rebuilt. */
static int renew_index(struct store *s, struct index *bad, struct err *e)
{
	_cleanup_index_ struct index *now = session_index(s);
	struct index *fresh = NULL;
	bool moved;
	int r;

	r = renew_dir(s, e);
	if (r < 0)
		return r;
	moved = now && index_moved(now);
	if (now && now != bad && !moved)
		return 0; /* another thread has replaced it already */
	/* An index file that is not at its path any more was set aside by another process, or deleted. */
	r = rebuild_open(s, now && !moved, &fresh, e);
	if (r == 0)
		replace_index(s, fresh);
	return r == -ENOENT ? -EIO : r; /* the directory was removed; -ENOENT would mean a missing key */
}

int session_settle(struct session *ses)
{
	char sha256[SHA256_TEXT];
	bool gone;
	int r;

	r = index_intent_next(ses->ix, sha256, &gone);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = index_begin(ses->ix);
	if (r < 0)
		return r;
	return index_end(ses->ix, settle_all(ses->s, ses->ix));
}

/* Sweeps after an eviction that removed files while the disk had no room to drop their rows. */
static void sweep_lost(struct session *ses)
{
	int r;

	if (!atomic_load(&ses->s->lost) || !room_has(ses->s, SWEEP_ROOM))
		return;
	r = index_begin(ses->ix);
	if (r == 0)
		r = sweep(ses->s, ses->ix);
	if (index_end(ses->ix, r) == 0)
		atomic_store(&ses->s->lost, false);
}

/* ---- the pending list ------------------------------------------------------------------ */

static void pending_add(struct pending *p, int64_t object, const char *sha256, bool broken)
{
	LOCK_SCOPE(&p->lock);
	struct pending_item *at = p->list;

	while (at < p->list + p->n && (at->object != object || at->broken != broken))
		at++;
	/* A full list drops the item. Only the order of eviction becomes less exact. */
	if (at < p->list + p->n || p->n == PENDING_MOST)
		return;
	if (p->n++ == 0)
		p->oldest = clock_ms();
	at->object = object;
	at->broken = broken;
	snprintf(at->sha256, sizeof(at->sha256), "%s", sha256);
}

/* The list is half full, or its first item is older than DUE_MS. */
static bool pending_is_due(struct pending *p)
{
	LOCK_SCOPE(&p->lock);

	return p->n >= PENDING_MOST / 2 || (p->n && clock_ms() - p->oldest > DUE_MS);
}

/* Moves all items to `out`. Returns their number. */
static unsigned pending_take(struct pending *p, struct pending_item out[static PENDING_MOST])
{
	LOCK_SCOPE(&p->lock);
	unsigned count = p->n;

	memcpy(out, p->list, count * sizeof(*out));
	p->n = 0;
	return count;
}

/* Writes all pending uses. The caller holds the write lock. */
static void pending_write(struct session *ses)
{
	_cleanup_free_ struct pending_item *list = calloc(PENDING_MOST, sizeof(*list));
	unsigned n = list ? pending_take(&ses->s->pending, list) : 0;
	int64_t now = store_now(ses->s), past = store_past(ses->s);
	int r = 0;

	if (n == 0)
		return;
	r = index_begin(ses->ix);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = list[i].broken ? index_intent_add(ses->ix, list[i].sha256, false)
				   : index_object_used(ses->ix, list[i].object, now, past);
	if (r == 0)
		r = settle_all(ses->s, ses->ix);
	r = index_end(ses->ix, r);
	if (r < 0)
		log_debug(LOG_STORE, "pending uses were lost: %s", err_text(r));
}

/* ---- sessions --------------------------------------------------------------------------- */

static int begin_write(struct session *ses)
{
	int r;

	r = lock_store(ses->s);
	if (r < 0)
		return r;
	ses->held = true;
	r = renew_index(ses->s, NULL, NULL);
	if (r < 0)
		return r;
	ses->ix = session_index(ses->s);
	r = now_look(ses);
	if (r < 0 && r != -ENOSPC)
		return r;
	r = session_settle(ses); /* finishes the work of a process that was killed while it held the lock */
	if (r == 0)
		pending_write(ses);
	if (r == 0)
		sweep_lost(ses);
	/* A full disk must not keep a process from making room. */
	if (r == 0 || r == -ENOSPC)
		r = ses->whole ? index_begin(ses->ix) : 0;
	return r;
}

/* Whether the open directory was removed. */
static bool dir_is_removed(int dirfd)
{
	struct stat st;

	return fstat(dirfd, &st) == 0 && st.st_nlink == 0;
}

static int begin_read(struct session *ses)
{
	struct store *s = ses->s;
	uint64_t now = clock_ms();

	ses->ix = session_index(s);
	if (!ses->ix || dir_is_removed(s->dirfd))
		return -EUCLEAN;
	if (now - atomic_load_explicit(&s->looked, memory_order_relaxed) < CHECK_EVERY_MS)
		return 0;
	atomic_store_explicit(&s->looked, now, memory_order_relaxed);
	return dir_is_elsewhere(s->dirfd, s->dir) || index_seems_moved(ses->ix) ? -EUCLEAN : 0;
}

static int begin_again(struct session *ses)
{
	int r = 0;

	if (!ses->write)
		r = lock_store(ses->s);
	else if (ses->ix)
		index_rollback(ses->ix);
	if (r < 0)
		return r;
	r = renew_index(ses->s, ses->ix, NULL);
	if (!ses->write)
		unlock_store(ses->s);
	index_unref(take(ses->ix));
	if (r == 0)
		ses->ix = session_index(ses->s);
	return r == 0 && ses->whole ? index_begin(ses->ix) : r;
}

bool session_next(struct session *ses)
{
	if (ses->tries == 0) {
		ses->tries = 1;
		ses->r = ses->write ? begin_write(ses) : begin_read(ses);
		if (ses->r == 0)
			return true;
	} else if (ses->whole) {
		ses->r = index_end(ses->ix, ses->r);
	}
	if (ses->r != -EUCLEAN)
		return false;
	if (ses->tries++ > 1) {
		ses->r = -EIO; /* damaged again after a rebuild: the disk is at fault, not the index */
		return false;
	}
	ses->r = begin_again(ses);
	return ses->r == 0;
}

void session_end(struct session *ses)
{
	if (ses->held && ses->ix)
		index_rollback(ses->ix);
	index_unref(take(ses->ix));
	if (ses->held)
		unlock_store(ses->s);
	ses->held = false;
}

int session_first(struct store *s, struct err *e)
{
	struct index *ix;
	int r;

	/* Most often the index is there and sound, and no lock is needed. */
	r = index_open(&ix, s->dir, NULL);
	if (r == 0) {
		replace_index(s, ix);
		return 0;
	}
	r = lock_store(s);
	if (r < 0)
		return err_set(e, r, "%s: another process holds the write lock", s->dir);
	r = renew_index(s, NULL, e);
	unlock_store(s);
	return r;
}

static void try_pending(struct store *s)
{
	_cleanup_index_ struct index *ix = NULL;
	_cleanup_free_ struct pending_item *list = NULL;
	int64_t used[PENDING_MOST];
	unsigned n, n_used = 0;

	if (!pending_is_due(&s->pending) || pthread_mutex_trylock(&s->write_lock) != 0)
		return;
	list = calloc(PENDING_MOST, sizeof(*list));
	ix = session_index(s);
	n = list && ix ? pending_take(&s->pending, list) : 0;
	for (unsigned i = 0; i < n; i++)
		if (!list[i].broken)
			used[n_used++] = list[i].object;
	if (n_used && index_try_used(ix, used, n_used, store_now(s), store_past(s)) < 0)
		n_used = 0;
	for (unsigned i = 0; i < n; i++)
		if (list[i].broken || n_used == 0)
			pending_add(&s->pending, list[i].object, list[i].sha256, list[i].broken);
	pthread_mutex_unlock(&s->write_lock);
}

void session_note_use(struct store *s, const struct index_hit *h, bool broken)
{
	if (broken || llabs(store_now(s) - h->used) >= USE_EVERY)
		pending_add(&s->pending, h->object.id, h->object.sha256, broken);
	try_pending(s);
}

/* One at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/turn.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/rebuild.h"
#include "store/room.h"
#include "store/settle.h"
#include "store/sweep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#define WAIT_MS 60000	   /* a turn is short, but for a rebuild */
#define SWEEP_ROOM (1 << 20)
#define LOOK_EVERY_MS 1000 /* how often a reader asks whether the index is still at its place */

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

static int hold(struct store *s)
{
	int r;

	pthread_mutex_lock(&s->turn_lock);
	r = flock_bounded(s, s->dirfd);
	if (r < 0)
		pthread_mutex_unlock(&s->turn_lock);
	return r;
}

static void let_go(struct store *s)
{
	flock(s->dirfd, LOCK_UN);
	pthread_mutex_unlock(&s->turn_lock);
}

static struct index *current(struct store *s)
{
	LOCK_SCOPE(&s->index_lock);

	return s->index ? index_ref(s->index) : NULL;
}

static void replace(struct store *s, struct index *ix)
{
	struct index *old;

	{
		LOCK_SCOPE(&s->index_lock);

		old = s->index;
		s->index = ix;
	}
	index_unref(old);
}

/* Another directory under the same descriptor, for which the turn holds the lock then. What was made in the
 * old one (drafts, locks of downloads) stays there. */
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

/* In a turn: the directory that the store's path leads to. */
static int renew_dir(struct store *s, struct err *e)
{
	struct err own = {0};
	int r;

	if (!dir_is_elsewhere(s->dirfd, s->dir))
		return 0;
	r = replace_dir(s, &own);
	if (r == 0) {
		log_warn("%s: the directory was removed or replaced; what is there now is the store", s->dir);
		atomic_store(&s->broken, false);
		return 0;
	}
	if (!atomic_exchange(&s->broken, true))
		log_error("%s: the directory was removed, and cannot be made anew: %s", s->dir,
			own.text[0] ? own.text : err_text(r));
	return err_set(e, -EIO, "%s", own.text[0] ? own.text : err_text(r));
}

/* In a turn: an index at its place that is not `bad`. */
static int renew(struct store *s, struct index *bad, struct err *e)
{
	_cleanup_index_ struct index *now = current(s);
	struct index *fresh = NULL;
	bool moved;
	int r;

	r = renew_dir(s, e);
	if (r < 0)
		return r;
	moved = now && index_moved(now);
	if (now && now != bad && !moved)
		return 0; /* another thread was here before */
	/* Where it was moved, another process has set it aside already, or somebody deleted it. */
	r = rebuild_open(s, now && !moved, &fresh, e);
	if (r == 0)
		replace(s, fresh);
	return r == -ENOENT ? -EIO : r; /* the directory went meanwhile: that says nothing of any key */
}

static void write_notes(struct turn *t)
{
	_cleanup_free_ struct note *list = calloc(NOTES_MOST, sizeof(*list));
	unsigned n = list ? notes_take(&t->s->notes, list) : 0;
	int64_t now = clock_wall();
	int r = 0;

	if (n == 0)
		return;
	r = index_begin(t->ix);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = list[i].broken ? index_intent_add(t->ix, list[i].sha256, false)
				   : index_object_used(t->ix, list[i].object, now);
	if (r == 0)
		r = settle_all(t->s, t->ix);
	if (r == 0)
		r = index_commit(t->ix);
	else
		index_rollback(t->ix);
	if (r < 0)
		log_debug(LOG_STORE, "notes were lost: %s", err_text(r));
}

int turn_settle(struct turn *t)
{
	char sha256[SHA256_TEXT];
	bool gone;
	int r;

	r = index_intent_next(t->ix, sha256, &gone);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = index_begin(t->ix);
	if (r < 0)
		return r;
	r = settle_all(t->s, t->ix);
	if (r == 0)
		return index_commit(t->ix);
	index_rollback(t->ix);
	return r;
}

/* Room was made by taking files away, when there was none to write down which. */
static void sweep_lost(struct turn *t)
{
	int r;

	if (!atomic_load(&t->s->lost) || !room_has(t->s, SWEEP_ROOM))
		return;
	r = index_begin(t->ix);
	if (r == 0)
		r = sweep(t->s, t->ix);
	if (r == 0)
		r = index_commit(t->ix);
	if (r < 0)
		index_rollback(t->ix);
	else
		atomic_store(&t->s->lost, false);
}

static int first_write(struct turn *t)
{
	int r;

	r = hold(t->s);
	if (r < 0)
		return r;
	t->held = true;
	r = renew(t->s, NULL, NULL);
	if (r < 0)
		return r;
	t->ix = current(t->s);
	r = turn_settle(t); /* what a process that was killed in its turn left half done */
	if (r == 0)
		write_notes(t);
	if (r == 0)
		sweep_lost(t);
	/* A full disk must not keep anybody from making room. */
	return r == -ENOSPC ? 0 : r;
}

static int first_read(struct turn *t)
{
	struct store *s = t->s;
	uint64_t now = clock_ms();

	t->ix = current(s);
	if (!t->ix || dir_is_removed(s->dirfd))
		return -EUCLEAN;
	if (now - atomic_load_explicit(&s->looked, memory_order_relaxed) < LOOK_EVERY_MS)
		return 0;
	atomic_store_explicit(&s->looked, now, memory_order_relaxed);
	return dir_is_elsewhere(s->dirfd, s->dir) || index_seems_moved(t->ix) ? -EUCLEAN : 0;
}

static int second(struct turn *t)
{
	int r = 0;

	if (!t->write)
		r = hold(t->s);
	else if (t->ix)
		index_rollback(t->ix);
	if (r < 0)
		return r;
	r = renew(t->s, t->ix, NULL);
	if (!t->write)
		let_go(t->s);
	index_unref(take(t->ix));
	if (r == 0)
		t->ix = current(t->s);
	return r;
}

bool turn_next(struct turn *t)
{
	if (t->tries == 0) {
		t->tries = 1;
		t->r = t->write ? first_write(t) : first_read(t);
		if (t->r == 0)
			return true;
	}
	if (t->r != -EUCLEAN)
		return false;
	if (t->tries++ > 1) {
		t->r = -EIO; /* damaged again at once: the disk, not the index */
		return false;
	}
	t->r = second(t);
	return t->r == 0;
}

void turn_end(struct turn *t)
{
	if (t->held && t->ix)
		index_rollback(t->ix);
	index_unref(take(t->ix));
	if (t->held)
		let_go(t->s);
	t->held = false;
}

int turn_first(struct store *s, struct err *e)
{
	struct index *ix;
	int r;

	/* Most often it is there and sound, and then nobody has to wait for anybody. */
	r = index_open(&ix, s->dir, NULL);
	if (r == 0) {
		replace(s, ix);
		return 0;
	}
	r = hold(s);
	if (r < 0)
		return err_set(e, r, "%s: another process holds it", s->dir);
	r = renew(s, NULL, e);
	let_go(s);
	return r;
}

int turn_recover(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	while (turn_next(&t)) /* a turn begins with that */
		t.r = 0;
	return t.r;
}

void turn_try_notes(struct store *s)
{
	_cleanup_index_ struct index *ix = NULL;
	_cleanup_free_ struct note *list = NULL;
	int64_t used[NOTES_MOST];
	unsigned n, n_used = 0;

	if (!notes_are_due(&s->notes) || pthread_mutex_trylock(&s->turn_lock) != 0)
		return;
	list = calloc(NOTES_MOST, sizeof(*list));
	ix = current(s);
	n = list && ix ? notes_take(&s->notes, list) : 0;
	for (unsigned i = 0; i < n; i++)
		if (!list[i].broken)
			used[n_used++] = list[i].object;
	if (n_used && index_try_used(ix, used, n_used, clock_wall()) < 0)
		n_used = 0;
	for (unsigned i = 0; i < n; i++)
		if (list[i].broken || n_used == 0)
			notes_add(&s->notes, list[i].object, list[i].sha256, list[i].broken);
	pthread_mutex_unlock(&s->turn_lock);
}

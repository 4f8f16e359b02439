/* The store: opening it, and what is asked of its index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/store.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/files/partial.h"
#include "store/sparse-file.h"
#include "store/sparse-rows.h"
#include "store/sweep.h"
#include "store/turn.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#define USE_EVERY 3600 /* seconds: noting each use would turn every read into a write */
#define HURRY_MS 2000

/* ---- opening ------------------------------------------------------------------------ */

static int read_id(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s};

	while (turn_next(&t))
		t.r = index_meta(t.ix, "id", s->id, sizeof(s->id));
	return t.r == -ENOENT ? -EIO : t.r;
}

static int sweep_in(struct turn *t, const char *boot)
{
	int r;

	r = index_begin(t->ix);
	if (r == 0)
		r = sweep(t->s, t->ix);
	if (r == 0)
		r = index_meta_set(t->ix, "boot", boot);
	return r == 0 ? index_commit(t->ix) : r;
}

/* 0: since this boot. -ENOENT: not yet, or who knows. */
static int was_swept(struct index *ix, const char *boot)
{
	char known[64];
	int r = index_meta(ix, "boot", known, sizeof(known));

	return r == 0 && strcmp(known, boot) != 0 ? -ENOENT : r;
}

/* Most often there is nothing to do, and then nobody's turn is waited for. */
static int look_for_sweep(struct store *s, const char *boot)
{
	_cleanup_turn_ struct turn t = {.s = s};

	while (turn_next(&t))
		t.r = was_swept(t.ix, boot);
	return t.r;
}

/* Sweeps once after each start of the machine: a power failure may have cost the index its last
 * commits, while the files that they spoke of are there. */
static int sweep_after_boot(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	_cleanup_free_ char *boot = NULL;
	int r;

	if (path_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 60, &boot, NULL) < 0)
		return 0;
	boot[strcspn(boot, "\n")] = '\0';
	r = look_for_sweep(s, boot);
	if (r != -ENOENT)
		return r;
	while (turn_next(&t)) {
		t.r = was_swept(t.ix, boot);
		if (t.r == -ENOENT)
			t.r = sweep_in(&t, boot);
	}
	return t.r;
}

static int open_parts(struct store *s, struct err *e)
{
	int r;

	r = dir_open(&s->dirfd, s->dir, e);
	if (r == 0)
		r = flights_init(s, e);
	if (r == 0)
		r = turn_first(s, e);
	if (r < 0)
		return r;
	partial_clean(s->dirfd, s->dir);
	r = read_id(s);
	if (r == 0)
		r = sweep_after_boot(s);
	sparses_clean(s);
	return r < 0 ? err_set(e, r, "%s: %s", s->dir, err_text(r)) : 0;
}

int store_open(struct store **out, const struct store_opts *o, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->dirfd = s->flights.fd = -1;
	s->quota = o->quota;
	s->min_free = o->min_free;
	pthread_mutex_init(&s->turn_lock, NULL);
	pthread_mutex_init(&s->index_lock, NULL);
	notes_init(&s->notes);
	sparses_init(s);
	s->dir = path_absolute(o->dir);
	r = s->dir ? open_parts(s, e) : err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		store_close(s);
		return r;
	}
	*out = s;
	return 0;
}

static void last_notes(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	while (turn_next(&t)) /* a turn begins with the notes */
		t.r = 0;
}

void store_hurry(struct store *s)
{
	uint_fast64_t none = 0;

	atomic_compare_exchange_strong(&s->hurry, &none, clock_ms() + HURRY_MS);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_hurry(s);
	if (s->index && s->notes.n)
		last_notes(s);
	index_unref(s->index);
	flights_release(s);
	if (s->dirfd >= 0)
		close(s->dirfd);
	notes_release(&s->notes);
	sparses_release(s);
	pthread_mutex_destroy(&s->index_lock);
	pthread_mutex_destroy(&s->turn_lock);
	free(s->dir);
	free(s);
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

int store_statvfs(const struct store *s, struct statvfs *out)
{
	return fstatvfs(s->dirfd, out) < 0 ? -errno : 0;
}

const char *store_id(const struct store *s)
{
	return s->id;
}

/* ---- finding ------------------------------------------------------------------------ */

struct key store_key(struct store *s, const struct key *k)
{
	_cleanup_turn_ struct turn t = {.s = s};
	struct index_hit hit;
	char canon[KEY_TEXT];
	struct key named;

	if (!key_by_name(k, &named))
		return *k;
	key_canon(&named, canon);
	while (turn_next(&t))
		t.r = index_find(t.ix, canon, &hit);
	return t.r == 0 ? named : *k;
}

static int hit_of(struct store *s, const struct key *k, struct index_hit *out)
{
	struct key here = store_key(s, k);
	_cleanup_turn_ struct turn t = {.s = s};
	char canon[KEY_TEXT];

	key_canon(&here, canon);
	while (turn_next(&t))
		t.r = index_find(t.ix, canon, out);
	if (t.r == 0 && !dir_sha256_ok(out->object.sha256))
		return -ENOENT;
	return t.r;
}

static void note(struct store *s, const struct index_hit *h, bool broken)
{
	if (broken || llabs(clock_wall() - h->used) >= USE_EVERY)
		notes_add(&s->notes, h->object.id, h->object.sha256, broken);
	turn_try_notes(s);
}

static int open_hit(struct store *s, const struct index_hit *h, struct blob **out)
{
	_cleanup_close_ int fd = -1;
	char rel[DIR_REL], path[4300];
	struct stat st;
	int r;

	r = dir_blob_open(s->dirfd, h->object.sha256, &fd, &st);
	if (r == 0 && (uint64_t)st.st_size != h->object.size)
		r = -ENOENT;
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", s->dir, dir_blob(h->object.sha256, rel));
	return blob_of_store(out, take_fd(&fd), path, h->object.sha256, h->object.size, &h->facts);
}

int store_find(struct store *s, const struct key *k, struct blob **out)
{
	struct index_hit hit, again;
	int r;

	r = hit_of(s, k, &hit);
	if (r < 0)
		return r;
	r = open_hit(s, &hit, out);
	/* The key may have got other bytes, and the old ones be gone, between the two steps. */
	while (r == -ENOENT && hit_of(s, k, &again) == 0 && again.object.id != hit.object.id) {
		hit = again;
		r = open_hit(s, &hit, out);
	}
	if (r == 0 || r == -ENOENT)
		note(s, &hit, r == -ENOENT);
	return r;
}

void store_main_key(struct store *s, const struct key *k, struct key *out)
{
	_cleanup_turn_ struct turn t = {.s = s};
	char canon[KEY_TEXT];
	struct key own;

	*out = *k;
	if (!key_is_by_debug_id(k)) {
		*out = store_key(s, k);
		return;
	}
	key_canon(k, canon);
	while (turn_next(&t))
		t.r = index_main_key(t.ix, canon, k->type, &own);
	if (t.r == 0)
		*out = own;
}

bool store_has(struct store *s, const struct key *k, uint64_t *size)
{
	struct index_hit hit;
	struct stat st;

	if (hit_of(s, k, &hit) < 0 || dir_blob_stat(s->dirfd, hit.object.sha256, &st) < 0 ||
		(uint64_t)st.st_size != hit.object.size)
		return false;
	if (size)
		*size = hit.object.size;
	return true;
}

int store_name(struct store *s, const struct key *k, char name[static MODULE_PATH_MAX])
{
	struct index_hit hit;
	int r = hit_of(s, k, &hit);

	if (r == 0)
		snprintf(name, MODULE_PATH_MAX, "%s", hit.key.name);
	return r;
}

int store_list(struct store *s, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s};
	int count = 0;

	while (turn_next(&t)) {
		count = index_list(t.ix, after, rows, n);
		t.r = MIN(count, 0);
	}
	return t.r < 0 ? t.r : count;
}

int store_modules(struct store *s, const struct module *like, struct module *out, unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s};
	int count = 0;

	while (turn_next(&t)) {
		count = index_modules(t.ix, like, out, n);
		t.r = MIN(count, 0);
	}
	return t.r < 0 ? t.r : count;
}

int store_keys_with_id(struct store *s, const struct key *k, struct key *out, unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s};
	int count = 0;

	while (turn_next(&t)) {
		count = index_keys_with_id(t.ix, k, out, n);
		t.r = MIN(count, 0);
	}
	return t.r < 0 ? t.r : count;
}

int store_count(struct store *s, struct store_totals *out)
{
	_cleanup_turn_ struct turn t = {.s = s};
	struct store_totals totals = {0};

	while (turn_next(&t))
		t.r = index_count(t.ix, clock_wall(), &totals);
	if (t.r == 0)
		t.r = partial_count(s->dirfd, &totals.drafts);
	if (t.r == 0)
		*out = totals;
	return t.r;
}

/* ---- misses ------------------------------------------------------------------------- */

static int miss_put(struct index *ix, const struct key *k, const char *name, const char *source,
	int64_t now, int64_t until, const char *reason)
{
	int r;

	r = index_begin(ix);
	if (r == 0)
		r = index_misses_expire(ix, now);
	if (r == 0)
		r = index_miss_put(ix, k, name, source, now, until, reason);
	return r == 0 ? index_commit(ix) : r;
}

int store_miss_add(struct store *s, const struct key *k, const char *name, const char *source,
	int64_t seconds, const char *reason)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	int64_t now = clock_wall(), until;

	if (seconds <= 0)
		return 0;
	until = seconds > INT64_MAX - now ? INT64_MAX : now + seconds;
	while (turn_next(&t))
		t.r = miss_put(t.ix, k, name, source, now, until, reason ? reason : "");
	return t.r;
}

int store_misses_asked(struct store *s, const struct store_asked *asked, unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	while (turn_next(&t))
		for (unsigned i = 0; t.r == 0 && i < n; i++) {
			char canon[KEY_TEXT];

			t.r = index_miss_asked(t.ix, key_canon(&asked[i].key, canon), asked[i].times);
		}
	return t.r;
}

int store_note_set(struct store *s, const char *name, const char *text)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (turn_next(&t))
		t.r = index_meta_set(t.ix, full, text);
	return t.r;
}

int store_note(struct store *s, const char *name, char text[static 201])
{
	_cleanup_turn_ struct turn t = {.s = s};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (turn_next(&t))
		t.r = index_meta(t.ix, full, text, 201);
	return t.r;
}

int64_t store_miss_until(struct store *s, const struct key *k, const char *name, const char *source)
{
	_cleanup_turn_ struct turn t = {.s = s};
	char canon[KEY_TEXT];
	int64_t until = 0;

	key_canon(k, canon);
	while (turn_next(&t))
		t.r = index_miss_until(t.ix, canon, name, source, &until);
	return t.r == 0 && until > clock_wall() ? until : 0;
}

int store_misses_clear(struct store *s, const struct key *k)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	char canon[KEY_TEXT];
	int count = 0;

	if (k)
		key_canon(k, canon);
	while (turn_next(&t)) {
		count = index_misses_drop(t.ix, k ? canon : NULL);
		t.r = MIN(count, 0);
	}
	return t.r < 0 ? t.r : count;
}

int store_list_misses(struct store *s, int64_t *after, struct store_miss_row *rows, unsigned n)
{
	_cleanup_turn_ struct turn t = {.s = s};
	int64_t cursor = *after;
	int count = 0;

	while (turn_next(&t)) {
		cursor = *after;
		count = index_list_misses(t.ix, &cursor, clock_wall(), rows, n);
		t.r = MIN(count, 0);
	}
	if (t.r < 0)
		return t.r;
	*after = cursor;
	return count;
}

/* ---- keeping and removing ----------------------------------------------------------- */

static int keep_in(struct turn *t, const char *canon, int64_t until)
{
	struct index_hit hit;
	int r;

	r = index_begin(t->ix);
	if (r == 0)
		r = index_key_find(t->ix, canon, &hit);
	if (r == 0)
		r = index_object_keep(t->ix, hit.object.id, until);
	/* The label says what is pinned. */
	if (r == 0 && (until == STORE_FOR_GOOD || until == 0))
		r = index_intent_add(t->ix, hit.object.sha256, false);
	if (r == 0)
		r = index_commit(t->ix);
	if (r < 0) {
		index_rollback(t->ix);
		return r;
	}
	turn_settle(t); /* where the disk has no room for the label, a later write turn writes it */
	return 0;
}

static bool is_pinned(struct store *s, const struct key *k)
{
	struct index_hit hit;

	return hit_of(s, k, &hit) == 0 && hit.object.pinned;
}

int store_keep(struct store *s, const struct key *k, int64_t seconds)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	int64_t now = clock_wall(), until = 0;
	char canon[KEY_TEXT];
	struct key here;

	if (seconds > 0)
		until = seconds > INT64_MAX - now ? STORE_FOR_GOOD : now + seconds;
	if (until && is_pinned(s, k))
		return 0;
	here = store_key(s, k);
	key_canon(&here, canon);
	while (turn_next(&t))
		t.r = keep_in(&t, canon, until);
	return t.r;
}

static int remove_whole(struct index *ix, const char *canon, bool file)
{
	struct index_hit hit;
	int r = index_key_find(ix, canon, &hit);

	if (r == 0)
		r = index_intent_add(ix, hit.object.sha256, file);
	if (r == 0)
		r = file ? index_object_drop(ix, hit.object.id) : index_key_drop(ix, canon);
	return r;
}

static int remove_in(struct turn *t, const char *canon, bool file)
{
	char sparse[17] = "";
	int r;

	r = index_begin(t->ix);
	if (r == 0)
		r = sparse_forget(t->ix, canon, sparse);
	if (r == 0)
		r = remove_whole(t->ix, canon, file);
	if (r == -ENOENT && sparse[0])
		r = 0;
	if (r == 0)
		r = index_commit(t->ix);
	if (r < 0) {
		index_rollback(t->ix);
		return r;
	}
	if (sparse[0])
		sparse_file_unlink(t->s, sparse);
	return turn_settle(t);
}

static int remove_by(struct store *s, const struct key *k, bool file)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};
	char canon[KEY_TEXT];
	struct key here;

	here = store_key(s, k);
	key_canon(&here, canon);
	while (turn_next(&t))
		t.r = remove_in(&t, canon, file);
	return t.r;
}

int store_remove(struct store *s, const struct key *k)
{
	return remove_by(s, k, false);
}

int store_remove_file(struct store *s, const struct key *k)
{
	return remove_by(s, k, true);
}

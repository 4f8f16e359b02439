/* The store: opens and closes it, keeps notes and side files, and lists and counts what its index has. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/store.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/settle.h"
#include "store/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define HURRY_MS 2000

/* ---- opening ------------------------------------------------------------------------ */

/* Reads the boot's id. */
static void now_init(struct store *s)
{
	_cleanup_free_ char *boot = NULL;

	if (path_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", sizeof(s->boot) + 20, &boot, NULL) == 0)
		snprintf(s->boot, sizeof(s->boot), "%.*s", (int)strcspn(boot, "\n"), boot);
	pthread_mutex_init(&s->time_lock, NULL);
}

static int read_meta(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s};
	char text[TIME_TEXT] = "";

	while (session_next(&ses)) {
		ses.r = index_meta(ses.ix, "id", s->id, sizeof(s->id));
		if (ses.r == 0 && index_meta(ses.ix, "time", text, sizeof(text)) == 0)
			time_parse(&s->time, text);
	}
	return ses.r == -ENOENT ? -EIO : ses.r;
}

/* 0: the store was swept since this boot. -ENOENT: the store was not swept, or the index has no record of
 * that. */
static int was_swept(struct index *ix, const char *boot)
{
	char known[64];
	int r = index_meta(ix, "boot", known, sizeof(known));

	return r == 0 && strcmp(known, boot) != 0 ? -ENOENT : r;
}

/* Asks as a reader first: most often no sweep is due, and the write lock is not needed. */
static int look_for_sweep(struct store *s, const char *boot)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		ses.r = was_swept(ses.ix, boot);
	return ses.r;
}

/* Sweeps once after each boot. After a power failure the index may lack its last commits, while the files of
 * these commits are on disk. */
static int sweep_after_boot(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	int r = *s->boot ? look_for_sweep(s, s->boot) : 0;

	if (r != -ENOENT)
		return r;
	while (session_next(&ses)) {
		ses.r = was_swept(ses.ix, s->boot);
		if (ses.r != -ENOENT)
			continue;
		ses.r = sweep(s, ses.ix);
		if (ses.r == 0)
			ses.r = index_meta_set(ses.ix, "boot", s->boot);
	}
	return ses.r;
}

static int open_parts(struct store *s, struct err *e)
{
	int r;

	r = dir_open(&s->dirfd, s->dir, e);
	if (r == 0)
		r = flights_init(s, e);
	if (r == 0)
		r = session_first(s, e);
	if (r < 0)
		return r;
	drafts_clean(s->dirfd, s->dir);
	r = read_meta(s);
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
	now_init(s);
	pthread_mutex_init(&s->write_lock, NULL);
	pthread_mutex_init(&s->index_lock, NULL);
	pthread_mutex_init(&s->watch.lock, NULL);
	pthread_mutex_init(&s->pending.lock, NULL);
	pthread_mutex_init(&s->sparses.opening, NULL);
	pthread_mutex_init(&s->sparses.lock, NULL);
	s->dir = path_absolute(o->dir);
	r = s->dir ? open_parts(s, e) : err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		store_close(s);
		return r;
	}
	*out = s;
	return 0;
}

static void flush_pending(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses)) /* a write session begins by writing the pending uses */
		ses.r = 0;
}

void store_hurry(struct store *s)
{
	uint_fast64_t none = 0;

	atomic_compare_exchange_strong(&s->hurry, &none, clock_ms() + HURRY_MS);
}

static void flights_release(struct store *s)
{
	struct flights *f = &s->flights;

	if (f->fd < 0)
		return;
	close(f->fd);
	free(f->wants);
	pthread_mutex_destroy(&f->lock);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_hurry(s);
	if (s->index && s->pending.n)
		flush_pending(s);
	index_unref(s->index);
	flights_release(s);
	if (s->dirfd >= 0)
		close(s->dirfd);
	pthread_mutex_destroy(&s->pending.lock);
	pthread_mutex_destroy(&s->sparses.opening);
	pthread_mutex_destroy(&s->sparses.lock);
	pthread_mutex_destroy(&s->time_lock);
	pthread_mutex_destroy(&s->index_lock);
	pthread_mutex_destroy(&s->watch.lock);
	pthread_mutex_destroy(&s->write_lock);
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

int store_ready(struct store *s, struct err *e)
{
	struct draft *d = NULL;
	char text[201];
	int r = draft_new(&d, s, e);

	draft_discard(d);
	if (r < 0)
		return r;
	r = store_note(s, "ready", text);
	return r == 0 || r == -ENOENT ? 0 : err_set(e, r, "%s: the index cannot be read: %s", s->dir, err_text(r));
}

/* ---- facts that processes found out about sources ------------------------------------- */

int store_note_set(struct store *s, const char *name, const char *text)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (session_next(&ses))
		ses.r = index_meta_set(ses.ix, full, text);
	return ses.r;
}

int store_note(struct store *s, const char *name, char text[static 201])
{
	_cleanup_session_ struct session ses = {.s = s};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (session_next(&ses))
		ses.r = index_meta(ses.ix, full, text, 201);
	return ses.r;
}

static int open_aside(struct store *s, bool make)
{
	int fd;

	if (make && mkdirat(s->dirfd, "aside", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(s->dirfd, "aside", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int store_side_file_write(struct store *s, const char *name, const void *p, size_t n)
{
	_cleanup_close_ int dir = open_aside(s, true);

	return dir < 0 ? dir : path_write_synced(dir, name, p, n, 0600);
}

int store_side_file_read(struct store *s, const char *name, size_t most, char **out, size_t *n)
{
	_cleanup_close_ int dir = open_aside(s, false);

	return dir < 0 ? dir : path_read(dir, name, most, out, n);
}

/* ---- lists and sums ------------------------------------------------------------------ */

int store_list(struct store *s, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_list(ses.ix, after, rows, n));
	return session_counted(&ses);
}

int store_modules(struct store *s, const struct module *like, struct module *out, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_modules(ses.ix, like, out, n));
	return session_counted(&ses);
}

int store_keys_with_id(struct store *s, const struct key *k, struct key *out, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_keys_with_id(ses.ix, k, out, n));
	return session_counted(&ses);
}

int store_count(struct store *s, struct store_totals *out)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct store_totals totals = {.quota = s->quota};

	while (session_next(&ses))
		ses.r = index_count(ses.ix, clock_wall(), &totals);
	if (ses.r == 0)
		ses.r = drafts_count(s->dirfd, &totals.drafts);
	if (ses.r == 0)
		*out = totals;
	return ses.r;
}

/* Scanned trees: starting and stopping the thread that follows a tree, and asking for keys. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/search.h"
#include "base/util.h"
#include "source/scan/private.h"

#include <inttypes.h>
#include <poll.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define QUIET_MS 100	    /* changes are read when no event has come for this time */
#define WAIT_MOST_MS 1000   /* the longest time for which changes wait, if events keep coming */
#define KNOWN_MOST (64u << 20) /* bytes of keys that a listing copies */
#define WALK_AGAIN_MS 60000 /* between two walks, if not all directories can be watched */

const char *scan_path(const struct scan *s)
{
	return s->path;
}

bool scan_archives(const struct scan *s)
{
	return s->archives;
}

/* ---- following ---------------------------------------------------------------------- */

/* Marks the directories that changed. true: the whole tree must be read again. */
static bool take_events(struct scan *s)
{
	char room[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool all = false;
	ssize_t n;

	while ((n = read(s->inotify, room, sizeof(room))) > 0)
		for (char *p = room; p < room + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;
			struct scan_dir *d = e->wd >= 0 && (size_t)e->wd < s->n_watches
				? s->by_watch[e->wd]
				: NULL;

			/* A directory that appears or vanishes changes all paths below it. */
			all = all || e->mask & (IN_Q_OVERFLOW | IN_ISDIR | IN_MOVE_SELF);
			if (d && e->mask & IN_IGNORED) {
				s->by_watch[e->wd] = NULL;
				d->watch = -1;
				all = true;
			}
			if (d)
				d->dirty = true;
			p += sizeof(*e) + e->len;
		}
	return all;
}

/* Waits for `ms` (-1: without a limit). 1: an event came. 0: no event. -1: the thread is to end. */
static int wait_for(struct scan *s, int ms)
{
	struct pollfd p[] = {{.fd = s->stop, .events = POLLIN}, {.fd = s->inotify, .events = POLLIN}};
	int n = poll(p, 2, ms);

	return p[0].revents ? -1 : n > 0 && p[1].revents ? 1 : 0;
}

/* Waits until no event has come for a while: a linker writes a file in many steps. */
static bool settle(struct scan *s, bool *all)
{
	uint64_t began = clock_ms();
	int r;

	do {
		*all = take_events(s) || *all;
		r = wait_for(s, QUIET_MS);
	} while (r > 0 && clock_ms() - began < WAIT_MOST_MS);
	return r >= 0;
}

/* The tree was walked for the first time, and its archives were read. */
static void end_first_walk(struct scan *s)
{
	log_debug(LOG_FETCH, "%s: walked, %zu keys", s->path, s->n_keys);
	memory_write(s);
	LOCK_SCOPE(&s->lock);
	s->walked = true;
}

/* How long to wait for an event until the tree is walked again, in milliseconds; -1: without a limit. */
static int wait_most(const struct scan *s)
{
	uint64_t now = clock_ms();

	if (s->error)
		return WAIT_MOST_MS;
	if (s->watches_full || s->inotify < 0)
		return WALK_AGAIN_MS;
	return !s->again_ms ? -1 : s->again_ms > now ? (int)(s->again_ms - now) : 0;
}

static void follow(struct scan *s)
{
	for (;;) {
		bool all = false, read = archives_read(s);
		int r;

		if (read && s->seen_all && !s->walked)
			end_first_walk(s);
		r = wait_for(s, read ? wait_most(s) : WAIT_MOST_MS);
		if (r < 0 || (r > 0 && !settle(s, &all)))
			return;
		if (r == 0 && !read)
			continue;
		if (all || r == 0 || (s->again_ms && clock_ms() >= s->again_ms))
			walk_all(s);
		else
			walk_dirty(s);
	}
}

/* frees `old` */
static void memory_forget(struct scan *s)
{
	for (size_t i = 0; i < s->n_old; i++)
		dir_release(&s->old[i]);
	free(s->old);
	s->old = NULL;
	s->n_old = 0;
}

static void *run(void *ctx)
{
	struct scan *s = ctx;

	memory_read(s);
	walk_all(s);
	memory_forget(s);
	follow(s);
	memory_write(s);
	return NULL;
}

/* ---- begin and end ------------------------------------------------------------------ */

static void scan_free(struct scan *s)
{
	if (s->inotify >= 0)
		close(s->inotify);
	if (s->stop >= 0)
		close(s->stop);
	memory_forget(s);
	index_bury(s);
	free(s->dead);
	for (size_t i = 0; i < s->n_dirs; i++) {
		tdelete(s->dirs[i], &s->by_path, compare_dirs);
		dir_free(s->dirs[i]);
	}
	free(s->dirs);
	free(s->by_watch);
	free(s->refs);
	free(s->path);
	free(s->memory);
	free(s->worker);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int scan_start(struct scan **out, const struct scan_opts *o, struct err *e)
{
	struct scan *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	pthread_mutex_init(&s->lock, NULL);
	s->path = strdup(o->path);
	s->memory = o->memory ? strdup(o->memory) : NULL;
	s->worker = o->worker ? strdup(o->worker) : NULL;
	s->archives = o->archives;
	s->unsandboxed = o->unsandboxed;
	s->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC); /* -1: no watches, the thread walks each minute */
	s->most = SCAN_FILES;
	s->stop = eventfd(0, EFD_CLOEXEC);
	if (!s->path || (o->memory && !s->memory) || (o->worker && !s->worker))
		r = -ENOMEM;
	else if (s->stop < 0)
		r = -errno;
	else
		r = -pthread_create(&s->thread, NULL, run, s);
	if (r < 0) {
		scan_free(s);
		return err_set(e, r, "%s: cannot be walked: %s", o->path, err_text(r));
	}
	*out = s;
	return 0;
}

#define GIVE_UP_S 10

void scan_stop(struct scan *s)
{
	struct timespec until;

	if (!s)
		return;
	atomic_store(&s->stopping, true);
	eventfd_write(s->stop, 1);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GIVE_UP_S;
	if (pthread_timedjoin_np(s->thread, NULL, &until) == 0)
		scan_free(s);
	else
		log_warn("%s does not answer; its scan thread is left behind", s->path);
}

/* ---- asking ------------------------------------------------------------------------- */

/* Fills in the member of a reference, and the worth of its key. */
static void take_member(const struct scan_ref *r, struct scan_found *out)
{
	const char *line = r->file->keys + r->line;
	struct key own;
	char *end;
	size_t n;

	known_key(line, strcspn(line, "\n"), &own, &out->worth);
	out->member = 0;
	out->name[0] = '\0';
	if (r->member == NO_MEMBER)
		return;
	line = r->file->keys + r->member + 1;
	out->member = strtoull(line, &end, 10);
	strtoull(end, &end, 10); /* the size */
	end += *end == ' ';
	n = MIN(strcspn(end, "\n"), sizeof(out->name) - 1);
	memcpy(out->name, end, n);
	out->name[n] = '\0';
}

static int path_of(const struct scan_dir *d, const struct scan_file *f, char out[static PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s%s%s", d->path, *d->path ? "/" : "", f->name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static void take_file(const struct scan_file *f, struct scan_found *out)
{
	out->ino = f->ino;
	out->size = f->size;
	out->mtime = f->mtime;
}

static size_t shared_part(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* The first reference with this number, or where it would be. */
static size_t index_from(const struct scan *s, uint64_t number)
{
	return search_first(i, 0, s->n_refs, s->refs[i].number < number);
}

static int find_source(struct scan *s, const struct key *k, struct scan_found *out)
{
	char digits[17], at[PATH_MAX], near[PATH_MAX] = ""; /* the path of the debug file */
	size_t n, most = 0;
	struct artifact a;
	struct key debug;
	LOCK_SCOPE(&s->lock);

	if (scan_debug_key(k->id, &a, &debug) == 0) {
		size_t i = index_from(s, key_number(&debug));

		if (i < s->n_refs && s->refs[i].number == key_number(&debug))
			path_of(s->refs[i].dir, s->refs[i].file, near);
	}
	snprintf(digits, sizeof(digits), "%016" PRIx64, scan_name_number(k->name));
	*out = (struct scan_found){0};
	snprintf(out->name, sizeof(out->name), "%s", k->name);
	for (size_t i = 0; i < s->n_dirs; i++)
		for (size_t j = 0; j < s->dirs[i]->n; j++) {
			const struct scan_file *f = &s->dirs[i]->files[j];
			const char *names = names_of(f, &n);

			if (!names || !bsearch(digits, names, n, NAME_DIGITS, compare_names) ||
				path_of(s->dirs[i], f, at) < 0 || (out->member && shared_part(at, near) <= most))
				continue;
			out->member = SCAN_BY_NAME;
			most = shared_part(at, near);
			take_file(f, out);
			memcpy(out->path, at, strlen(at) + 1);
		}
	return out->member ? 0 : s->walked ? -ENOENT : -EAGAIN;
}

/* The debug file of `app` is often `app.debug`. */
static bool is_named(const char *file, const char *name)
{
	size_t n = strlen(name);

	return strncasecmp(file, name, n) == 0 && (!file[n] || strcasecmp(file + n, ".debug") == 0);
}

static int find_named(struct scan *s, const char *name, struct scan_found *out)
{
	LOCK_SCOPE(&s->lock);

	*out = (struct scan_found){0};
	for (size_t i = 0; i < s->n_dirs; i++)
		for (size_t j = 0; j < s->dirs[i]->n; j++)
			if (is_named(s->dirs[i]->files[j].name, name))
				return path_of(s->dirs[i], &s->dirs[i]->files[j], out->path);
	return -ENOENT;
}

int scan_find(struct scan *s, const struct key *k, unsigned nth, struct scan_found *out)
{
	uint64_t number = key_number(k);
	size_t at;

	if (k->type == FILETYPE_SOURCE)
		return nth ? -ENOENT : find_source(s, k, out);
	if (nth == SCAN_NAMED)
		return find_named(s, k->name, out);
	LOCK_SCOPE(&s->lock);
	at = index_from(s, number);
	if (nth < s->n_refs - at && s->refs[at + nth].number == number) {
		const struct scan_ref *r = &s->refs[at + nth];

		take_file(r->file, out);
		take_member(r, out);
		return path_of(r->dir, r->file, out->path);
	}
	return s->walked ? -ENOENT : -EAGAIN;
}

/* Copies the texts of keys under the lock, which is fast. The caller parses them after the unlock. */
static int copy_known(struct scan *s, struct buf *out)
{
	int r = 0;
	LOCK_SCOPE(&s->lock);

	for (size_t i = 0; i < s->n_dirs; i++)
		for (size_t j = 0; r == 0 && j < s->dirs[i]->n; j++) {
			const struct scan_file *f = &s->dirs[i]->files[j];
			const char *keys = f->keys;
			size_t n;

			if (names_of(f, &n))
				keys += strcspn(keys, "\n") + 1;
			if (keys && out->n + strlen(keys) > out->most)
				return 0;
			r = keys ? buf_adds(out, keys) : 0;
		}
	return r;
}

int scan_each(struct scan *s, size_t most, int (*each)(void *ctx, const struct key *k), void *ctx)
{
	_cleanup_buf_ struct buf all = BUF_UP_TO(KNOWN_MOST);
	int r = copy_known(s, &all);
	size_t n;

	for (const char *p = buf_text(&all); r == 0 && most && *p; p += n + 1) {
		struct key k;

		n = strcspn(p, "\n");
		if (known_key(p, n, &k, NULL) < 0)
			continue;
		r = each(ctx, &k);
		most--;
	}
	return r;
}

/* Under the lock. */
static int places_of(const struct scan_dir *d, const struct scan_file *f, struct scan_found *at,
	scan_each_place *each, void *ctx)
{
	struct scan_ref ref = {.file = f, .member = NO_MEMBER};
	struct key k;
	int r = 0;
	size_t n;

	if (path_of(d, f, at->path) < 0)
		return 0;
	for (const char *p = f->keys; r == 0 && p && *p; p += n + 1) {
		n = strcspn(p, "\n");
		ref.line = (uint32_t)(p - f->keys);
		if (*p == '\t') {
			ref.member = ref.line;
		} else if (known_key(p, n, &k, NULL) == 0) {
			take_member(&ref, at);
			r = each(ctx, &k, at);
		}
	}
	return r;
}

/* Holds the lock for one directory at a time. */
int scan_places(struct scan *s, scan_each_place *each, void *ctx)
{
	struct scan_found at = {0};
	int r = 0;

	for (size_t i = 0; r == 0; i++) {
		LOCK_SCOPE(&s->lock);

		if (i >= s->n_dirs)
			return s->walked ? 0 : -EAGAIN;
		for (size_t j = 0; r == 0 && j < s->dirs[i]->n; j++)
			r = places_of(s->dirs[i], &s->dirs[i]->files[j], &at, each, ctx);
	}
	return r;
}

void scan_state(struct scan *s, char out[static 240])
{
	LOCK_SCOPE(&s->lock);

	uint64_t all = s->archives_read + s->archives_new;
	char read[32] = "";
	int n;

	if (s->error) {
		snprintf(out, 240, "%s", s->error == -ELOOP ? "skipped: inside a symfs mount"
							    : err_text(s->error));
		return;
	}
	n = snprintf(out, 240, "%s, %zu artifact%s in %" PRIu64 " file%s", s->walked ? "there" : "being walked",
		s->n_keys, PLURAL(s->n_keys), s->files, PLURAL(s->files));
	if (s->archives_new)
		snprintf(read, sizeof(read), "%" PRIu64 " of ", s->archives_read);
	if (all)
		n += snprintf(out + n, 240 - (size_t)n, ", %s%" PRIu64 " archive%s%s", read, all, PLURAL(all),
			s->archives_new ? " read" : "");
	if (s->archives_faulty)
		snprintf(out + n, 240 - (size_t)n, " (%" PRIu64 " with faults, see the log)", s->archives_faulty);
}

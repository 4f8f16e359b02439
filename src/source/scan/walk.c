/* Walking a scanned tree: reading directories, and watching them for changes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/util.h"
#include "source/scan/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#define INDEX_MS 300 /* how often the first walk updates the index with the files found so far */
/* IN_ATTRIB: permissions may change. IN_MOVE_SELF: no other event says that the root was moved. */
#define WATCHED                                                                                    \
	(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |        \
		IN_MOVE_SELF | IN_ONLYDIR)

static struct scan_dir *dir_find(const struct scan *s, const char *path)
{
	struct scan_dir want = {.path = (char *)path};
	struct scan_dir **at = tfind(&want, &s->by_path, compare_dirs);

	return at ? *at : NULL;
}

bool scan_stopping(const struct scan *s)
{
	struct pollfd p = {.fd = s->stop, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static int dirs_room(struct scan *s)
{
	size_t room = s->room ? s->room * 2 : 64;
	struct scan_dir **more;

	if (s->n_dirs < s->room)
		return 0;
	more = malloc(room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (s->n_dirs)
		memcpy(more, s->dirs, s->n_dirs * sizeof(*more));
	LOCK_SCOPE(&s->lock);
	free(s->dirs);
	s->dirs = more;
	s->room = room;
	return 0;
}

static struct scan_dir *dir_add(struct scan *s, const char *path)
{
	struct scan_dir *d = calloc(1, sizeof(*d));

	if (d)
		d->path = strdup(path);
	if (!d || !d->path || dirs_room(s) < 0) {
		if (d)
			free(d->path);
		free(d);
		return NULL;
	}
	d->watch = -1;
	if (!tsearch(d, &s->by_path, compare_dirs)) {
		dir_free(d);
		return NULL;
	}
	LOCK_SCOPE(&s->lock);
	s->dirs[s->n_dirs++] = d;
	return d;
}

/* Records the directory of a watch. */
static int watch_set(struct scan *s, int watch, struct scan_dir *d)
{
	size_t n = (size_t)watch + 1;

	if (n > s->n_watches) {
		struct scan_dir **more = reallocarray(s->by_watch, n * 2, sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + s->n_watches, 0, (n * 2 - s->n_watches) * sizeof(*more));
		s->by_watch = more;
		s->n_watches = n * 2;
	}
	s->by_watch[watch] = d;
	return 0;
}

static void dir_unwatch(struct scan *s, struct scan_dir *d)
{
	if (d->watch < 0)
		return;
	if (s->by_watch[d->watch] == d) {
		s->by_watch[d->watch] = NULL;
		inotify_rm_watch(s->inotify, d->watch);
	}
	d->watch = -1;
}

/* Adds the watch through /proc, so that it watches the very directory that `fd` has open. */
static void dir_watch(struct scan *s, struct scan_dir *d, int fd)
{
	char room[40];
	int watch;

	if (s->inotify < 0)
		return;
	snprintf(room, sizeof(room), "/proc/self/fd/%d", fd);
	watch = inotify_add_watch(s->inotify, room, WATCHED);
	if (watch >= 0 && watch != d->watch)
		dir_unwatch(s, d); /* another directory has the path now */
	if (watch >= 0 && watch_set(s, watch, d) == 0) {
		d->watch = watch;
		return;
	}
	if (!s->watches_full) {
		s->watches_full = true;
		log_warn("%s: not all of it can be watched (%s): it is walked again each minute",
			s->path, err_text(errno));
	}
	if (watch >= 0)
		inotify_rm_watch(s->inotify, watch); /* no directory is recorded for its events */
}

/* Whether the walk leaves out an entry of this name. A directory of version control has many files and no
 * symbols. The memory file cannot hold a name with a line end. */
static bool is_skipped(const char *name)
{
	static const char *const names[] = {".", "..", ".git", ".hg", ".svn"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return strchr(name, '\n') != NULL;
}

static int reading_sub(struct reading *r, const char *name)
{
	char *own = strdup(name);
	int done = own ? APPEND(r->subs, r->subs_room, r->n_subs, own) : -ENOMEM;

	if (done < 0)
		free(own);
	return done;
}

/* in `old`; NULL: not listed */
static const struct scan_dir *memory_dir(const struct scan *s, const char *path)
{
	struct scan_dir want = {.path = (char *)path};

	return s->n_old ? bsearch(&want, s->old, s->n_old, sizeof(want), compare_dirs) : NULL;
}

static int read_entry(struct scan *s, struct scan_dir *d, int fd, const char *name,
	struct reading *out)
{
	struct scan_file f;
	struct stat st;
	int r;

	if (is_skipped(name) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return reading_sub(out, name);
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	/* `s->files` still counts the directory's old files, which this reading replaces. */
	if (s->files + s->members - d->n + out->n >= s->most)
		return -E2BIG;
	r = look_at(s, d, memory_dir(s, d->path), fd, name, &st, &f);
	if (r == 0)
		r = reading_file(out, &f);
	if (r < 0) {
		free(f.name);
		free(f.keys);
	}
	return r;
}

static int read_dir(struct scan *s, struct scan_dir *d, int fd, struct reading *out)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *e;

	if (!dir) {
		r = -errno;
		if (again >= 0)
			close(again);
		return r;
	}
	while (r == 0 && !scan_stopping(s) && (e = readdir(dir)))
		r = read_entry(s, d, fd, e->d_name, out);
	closedir(dir);
	sort_array(out->files, out->n, sizeof(*out->files), compare_files);
	return scan_stopping(s) ? -EINTR : r;
}

/* Adds the directory's files to the numbers of the tree, or with -1 subtracts them. Under `lock`. */
static void count_files(struct scan *s, const struct scan_dir *d, int sign)
{
	size_t names;
	uint64_t *by_kind[] = {NULL, &s->archives_new, &s->archives_read, &s->archives_read};

	s->files += (uint64_t)sign * d->n;
	for (size_t i = 0; i < d->n; i++) {
		const struct scan_file *f = &d->files[i];

		s->members += (uint64_t)sign * f->members;
		names_of(f, &names);
		s->names += (uint64_t)sign * names;
		s->archives_faulty += f->kind == SCAN_ARCHIVE_FAULTY ? (uint64_t)sign : 0;
		if (by_kind[f->kind])
			*by_kind[f->kind] += (uint64_t)sign;
	}
}

/* Removes a directory; its files stay in memory as long as the index refers to them. */
static void dir_kill(struct scan *s, struct scan_dir *d)
{
	struct reading *more;

	if (!d->files)
		return;
	more = reallocarray(s->dead, s->n_dead + 1, sizeof(*more));
	if (more) {
		s->dead = more;
		s->dead[s->n_dead++] = (struct reading){.files = d->files, .n = d->n};
	} /* if there is no memory, the files are leaked */
	s->changed = true;
	pthread_mutex_lock(&s->lock);
	count_files(s, d, -1);
	d->files = NULL;
	d->n = 0;
	pthread_mutex_unlock(&s->lock);
}

static bool same_files(const struct scan_file *a, size_t n, const struct scan_dir *d)
{
	if (!d || n != d->n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(a[i].name, d->files[i].name) != 0 || a[i].ino != d->files[i].ino ||
			a[i].size != d->files[i].size || a[i].mtime != d->files[i].mtime)
			return false;
	return true;
}

/* Replaces the directory's files with those that were read. */
static void dir_take(struct scan *s, struct scan_dir *d, struct reading *in)
{
	if (same_files(in->files, in->n, d))
		return;
	if (d->n || !same_files(in->files, in->n, memory_dir(s, d->path)))
		s->changed = true;
	dir_kill(s, d);
	pthread_mutex_lock(&s->lock);
	reading_give(in, d);
	count_files(s, d, 1);
	pthread_mutex_unlock(&s->lock);
	if (!s->seen_all && clock_ms() - s->indexed_ms > INDEX_MS)
		index_build(s);
}

static void walk(struct scan *s, int fd, const char *path, unsigned depth);

static void walk_sub(struct scan *s, int fd, const char *path, const char *name, unsigned depth)
{
	_cleanup_free_ char *below = NULL;
	int sub;

	if (asprintf(&below, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return;
	sub = mounts_open_sub(fd, name);
	if (sub < 0)
		return;
	walk(s, sub, below, depth + 1);
	close(sub);
}

static void reading_release(struct reading *r)
{
	files_free(r->files, r->n);
	for (size_t i = 0; i < r->n_subs; i++)
		free(r->subs[i]);
	free(r->subs);
}

/* Reads a directory and its subdirectories. In a known directory only changed files are read. */
static void walk(struct scan *s, int fd, const char *path, unsigned depth)
{
	struct scan_dir *d = dir_find(s, path);
	struct reading in = {0};
	int r;

	if (!d)
		d = dir_add(s, path);
	if (!d || depth > SCAN_DEPTH)
		return;
	d->seen = true;
	d->dirty = false;
	dir_watch(s, d, fd); /* before reading, so that no change is missed */
	r = read_dir(s, d, fd, &in);
	if (r < 0 && r != -EINTR)
		log_warn("%s/%s: not walked to its end: %s", s->path, path,
			r == -E2BIG ? "more than a million files" : err_text(r));
	if (r != -EINTR)
		dir_take(s, d, &in);
	for (size_t i = 0; i < in.n_subs && !scan_stopping(s); i++)
		walk_sub(s, fd, path, in.subs[i], depth);
	reading_release(&in);
}

static void dir_drop(struct scan *s, struct scan_dir *d)
{
	dir_unwatch(s, d);
	dir_kill(s, d);
	tdelete(d, &s->by_path, compare_dirs);
	s->changed = true;
}

/* Drops the directories that the last walk did not find. */
static void drop_unseen(struct scan *s)
{
	size_t n = 0, all = s->n_dirs;

	for (size_t i = 0; i < all; i++)
		if (!s->dirs[i]->seen)
			dir_drop(s, s->dirs[i]);
	index_build(s);
	LOCK_SCOPE(&s->lock);
	for (size_t i = 0; i < all; i++) {
		struct scan_dir *d = s->dirs[i];

		if (d->seen)
			s->dirs[n++] = d;
		else
			dir_free(d);
	}
	s->n_dirs = n;
}

static int open_root(const struct scan *s)
{
	_cleanup_close_ int fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = mounts_refuse_symfs(fd);
	return r < 0 ? r : take_fd(&fd);
}

void walk_all(struct scan *s)
{
	_cleanup_close_ int fd = open_root(s);

	/* Set the error first: a caller that finds a file must not see the error of an earlier walk. */
	pthread_mutex_lock(&s->lock);
	s->error = fd < 0 ? fd : 0;
	pthread_mutex_unlock(&s->lock);
	s->again_ms = 0;
	for (size_t i = 0; i < s->n_dirs; i++)
		s->dirs[i]->seen = false;
	if (fd >= 0)
		walk(s, fd, "", 0);
	if (scan_stopping(s))
		return;
	drop_unseen(s);
	s->seen_all = true;
}

void walk_dirty(struct scan *s)
{
	for (size_t i = 0; i < s->n_dirs && !scan_stopping(s); i++) {
		struct scan_dir *d = s->dirs[i];
		_cleanup_close_ int root = -1, dir = -1, fd = -1;
		struct reading in = {0};

		if (!d->dirty)
			continue;
		d->dirty = false;
		root = open_root(s);
		/* A parent directory may have become a link. */
		if (root >= 0 && beneath_open_dir(&(struct beneath){.base = root}, d->path, &dir) == 0)
			fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && read_dir(s, d, fd, &in) != -EINTR)
			dir_take(s, d, &in);
		reading_release(&in);
	}
	index_build(s);
}

/* Finds the names of a directory in any letter case, by an index of the directory that is renewed when its time
 * of modification changes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/local/folded.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DIRS_MOST 256
#define STILL_NAMES 1024 /* a thread reports progress after this many names */
#define SETTLED_S 2	 /* seconds; a directory that changed later before it was read may change again unseen */
#define TEXT_MOST (64u << 20)

/* The names of one directory. Constant once it is in the table. */
struct names {
	unsigned refs; /* under folded.lock */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* the directory's time of modification */
	bool settled;		 /* `changed` is so old that the next change will alter it */
	bool too_many;		 /* no name is in the index */
	struct buf text;	 /* each name with its NUL */
	uint32_t *slots;	 /* offset of a name + 1, by hash; 0: free */
	size_t room, n;		 /* room is a power of two, or 0 */
};

struct folded {
	pthread_mutex_t lock;
	/* under lock */
	struct names *dirs[DIRS_MOST]; /* the most recently used index comes first */
	unsigned n;
	size_t all; /* names in all indexes together */
};

int folded_new(struct folded **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

static void names_free(struct names *d)
{
	buf_release(&d->text);
	free(d->slots);
	free(d);
}

/* Under lock. */
static void names_unref(struct names *d)
{
	if (--d->refs == 0)
		names_free(d);
}

void folded_free(struct folded *fo)
{
	if (!fo)
		return;
	for (unsigned i = 0; i < fo->n; i++)
		names_unref(fo->dirs[i]);
	pthread_mutex_destroy(&fo->lock);
	free(fo);
}

/* ---- one index ---------------------------------------------------------------------------------------------- */

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* FNV-1a of the name in lower case. */
static uint32_t hash_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)fold(*name)) * 16777619u;
	return h;
}

static bool same_folded(const char *a, const char *b)
{
	for (; *a && fold(*a) == fold(*b); a++, b++)
		;
	return fold(*a) == fold(*b);
}

static void put(struct names *d, uint32_t offset)
{
	size_t i = hash_of(d->text.p + offset) & (d->room - 1);

	while (d->slots[i])
		i = (i + 1) & (d->room - 1);
	d->slots[i] = offset + 1;
}

static int grow_slots(struct names *d)
{
	size_t room = d->room ? 2 * d->room : 64;
	uint32_t *old = d->slots, *slots = calloc(room, sizeof(*slots));
	size_t had = d->room;

	if (!slots)
		return -ENOMEM;
	d->slots = slots;
	d->room = room;
	for (size_t i = 0; i < had; i++)
		if (old[i])
			put(d, old[i] - 1);
	free(old);
	return 0;
}

static int names_add(struct names *d, const char *name)
{
	size_t offset = d->text.n;
	int r = 2 * d->n >= d->room ? grow_slots(d) : 0;

	if (r == 0)
		r = buf_add(&d->text, name, strlen(name) + 1);
	if (r < 0)
		return r;
	put(d, (uint32_t)offset);
	d->n++;
	return 0;
}

static int read_names(struct fetch *f, int slot, DIR *dir, struct names *d)
{
	const struct dirent *e;
	unsigned seen = 0;
	int r = 0;

	while (r == 0 && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++seen % STILL_NAMES == 0)
			dir_still(f, slot);
		if (seen > FOLDED_NAMES_MOST) {
			d->too_many = true;
			buf_release(&d->text);
			free(take(d->slots));
			d->room = d->n = 0;
			return 0;
		}
		r = names_add(d, e->d_name);
	}
	return r;
}

/* Takes the descriptor. -ENOENT: the directory cannot be read. */
static int names_new(struct fetch *f, int slot, int fd, const struct stat *st, struct names **out)
{
	struct names *d = calloc(1, sizeof(*d));
	DIR *dir = d ? fdopendir(fd) : NULL;
	int r;

	if (!dir) {
		free(d);
		close(fd);
		return -ENOMEM;
	}
	*d = (struct names){.refs = 1, .dev = st->st_dev, .ino = st->st_ino, .changed = st->st_mtim,
		.settled = st->st_mtim.tv_sec + SETTLED_S < clock_wall(), .text = BUF_UP_TO(TEXT_MOST)};
	r = read_names(f, slot, dir, d);
	closedir(dir);
	if (r < 0)
		names_free(d);
	else
		*out = d;
	return r;
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

/* Under lock. */
static void drop(struct folded *fo, unsigned i)
{
	fo->all -= fo->dirs[i]->n;
	names_unref(fo->dirs[i]);
	memmove(fo->dirs + i, fo->dirs + i + 1, (--fo->n - i) * sizeof(fo->dirs[0]));
}

/* Under lock. Finds the index of a directory that has not changed since, and moves it to the front. NULL: none. */
static struct names *find(struct folded *fo, const struct stat *st)
{
	for (unsigned i = 0; i < fo->n; i++) {
		struct names *d = fo->dirs[i];

		if (d->dev != st->st_dev || d->ino != st->st_ino)
			continue;
		if (!d->settled || d->changed.tv_sec != st->st_mtim.tv_sec ||
			d->changed.tv_nsec != st->st_mtim.tv_nsec) {
			drop(fo, i);
			return NULL;
		}
		memmove(fo->dirs + 1, fo->dirs, i * sizeof(fo->dirs[0]));
		fo->dirs[0] = d;
		return d;
	}
	return NULL;
}

/* Under lock. */
static void keep(struct folded *fo, struct names *d)
{
	while (fo->n && (fo->n == DIRS_MOST || fo->all + d->n > FOLDED_ALL_MOST))
		drop(fo, fo->n - 1);
	memmove(fo->dirs + 1, fo->dirs, fo->n++ * sizeof(fo->dirs[0]));
	fo->dirs[0] = d;
	fo->all += d->n;
	d->refs++;
}

/* *out: a reference to the index of a directory. -ENOENT: the directory cannot be read. Two threads can read the same
 * directory at once; neither waits for the other. */
static int names_of(struct fetch *f, int slot, int at, struct names **out)
{
	struct folded *fo = f->folded;
	_cleanup_close_ int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct names *d;
	struct stat st, now;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -ENOENT;
	pthread_mutex_lock(&fo->lock);
	d = find(fo, &st);
	if (d)
		d->refs++;
	pthread_mutex_unlock(&fo->lock);
	if (!d) {
		r = names_new(f, slot, take_fd(&fd), &st, &d);
		if (r < 0)
			return r;
		if (fstat(at, &now) < 0 || now.st_mtim.tv_sec != st.st_mtim.tv_sec ||
			now.st_mtim.tv_nsec != st.st_mtim.tv_nsec)
			d->settled = false; /* it changed while it was read */
		pthread_mutex_lock(&fo->lock);
		if (d->settled && !find(fo, &st))
			keep(fo, d);
		pthread_mutex_unlock(&fo->lock);
	}
	*out = d;
	return 0;
}

/* ---- paths -------------------------------------------------------------------------------------------------- */

struct walk {
	struct fetch *f;
	int slot;
	const struct beneath *b;
	folded_each *each;
	void *ctx;
	unsigned tries;
	struct buf path; /* in the letter case of the disk */
};

static int walk(struct walk *w, const char *rest);

/* One name of the directory at w->path. */
static int walk_name(struct walk *w, const char *name, const char *rest)
{
	size_t n = w->path.n;
	int r = buf_addf(&w->path, "%s%s", n ? "/" : "", name);

	if (r == 0)
		r = *rest ? walk(w, rest) : w->tries++ < FOLDED_TRIES_MOST ? w->each(w->ctx, buf_text(&w->path))
			: -ENOENT;
	buf_cut(&w->path, n);
	return r == -EFBIG ? -ENOENT : r;
}

/* Tries two names in a directory that has no index: the name that was asked for, and that name in lower case. */
static int walk_unread(struct walk *w, const char *name, const char *rest)
{
	char lower[256];
	size_t n = 0;
	int r = walk_name(w, name, rest);

	for (; name[n] && n + 1 < sizeof(lower); n++)
		lower[n] = fold(name[n]);
	lower[n] = '\0';
	return r == -ENOENT && strcmp(lower, name) != 0 ? walk_name(w, lower, rest) : r;
}

static int walk_read(struct walk *w, const struct names *d, const char *name, const char *rest)
{
	int r = -ENOENT;

	for (size_t i = hash_of(name) & (d->room - 1); r == -ENOENT && d->room && d->slots[i];
		i = (i + 1) & (d->room - 1)) {
		const char *found = d->text.p + d->slots[i] - 1;

		if (same_folded(found, name))
			r = walk_name(w, found, rest);
	}
	return r;
}

static int walk(struct walk *w, const char *rest)
{
	size_t n = strcspn(rest, "/");
	_cleanup_free_ char *name = strndup(rest, n);
	_cleanup_close_ int dir = -1;
	struct names *d;
	int r;

	if (!name)
		return -ENOMEM;
	if (w->tries >= FOLDED_TRIES_MOST || beneath_open_dir(w->b, buf_text(&w->path), &dir) < 0)
		return -ENOENT;
	rest += n + (rest[n] == '/');
	r = names_of(w->f, w->slot, dir, &d);
	if (r == -ENOENT)
		return walk_unread(w, name, rest);
	if (r < 0)
		return r;
	r = d->too_many ? walk_unread(w, name, rest) : walk_read(w, d, name, rest);
	pthread_mutex_lock(&w->f->folded->lock);
	names_unref(d);
	pthread_mutex_unlock(&w->f->folded->lock);
	return r;
}

int folded_paths(struct fetch *f, int slot, const struct beneath *b, const char *path, folded_each *each, void *ctx)
{
	struct walk w = {.f = f, .slot = slot, .b = b, .each = each, .ctx = ctx, .path = BUF_UP_TO(PATH_MAX)};
	int r = walk(&w, path);

	buf_release(&w.path);
	return r;
}

/* Keeps the chunks of uploads on disk: takes them, finds them, and removes them after their lifetime. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/chunks.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/inflate.h"
#include "base/log.h"
#include "base/path.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SWEEP_SECONDS 3600
#define PIECE (64u << 10) /* bytes that are unpacked or read at once */
#define NAME_ROOM 64	  /* "chunks/ab/REST", "new/PID-NUMBER" */

struct chunks {
	char *dir; /* DIR/uploads */
	uint64_t most;
	atomic_uint_fast64_t total; /* bytes of all chunks */
	atomic_uint_fast64_t number; /* of the last new file */
	atomic_int_fast64_t swept; /* wall clock, seconds */
};

struct chunk {
	struct chunks *c;
	struct sha1 name;
	int fd; /* -1: the chunk is there already, and these bytes are dropped */
	uint64_t size; /* bytes so far, unpacked */
	struct digest *digest;
	struct inflater *inflater; /* NULL: the bytes are not compressed */
	bool over; /* the compressed data has ended */
	char temp[NAME_ROOM];
};

/* ---- names --------------------------------------------------------------------------- */

int sha1_read(const char *text, struct sha1 *out)
{
	struct sha1 s;

	if (strlen(text) != 2 * sizeof(s.bytes) || hex_read(text, 2 * sizeof(s.bytes), s.bytes) < 0)
		return -EINVAL;
	*out = s;
	return 0;
}

const char *sha1_text(const struct sha1 *s, char out[static SHA1_TEXT])
{
	hex_print(s->bytes, sizeof(s->bytes), out);
	return out;
}

bool sha1_equal(const struct sha1 *a, const struct sha1 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static void chunk_rel(const struct sha1 *s, char out[static NAME_ROOM])
{
	char hex[SHA1_TEXT];

	sha1_text(s, hex);
	snprintf(out, NAME_ROOM, "chunks/%.2s/%s", hex, hex + 2);
}

/* Opens the directory of the chunks. It is opened by its path each time, because the store's directory may be
 * removed and made anew. */
static int open_dir(const struct chunks *c)
{
	int fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t counted(uint64_t size)
{
	return MAX(size, (uint64_t)CHUNK_LEAST);
}

/* ---- opening ------------------------------------------------------------------------- */

static int make_dirs(const struct chunks *c)
{
	char path[PATH_MAX];
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 2; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", c->dir, i ? "new" : "chunks") >= (int)sizeof(path))
			return -ENAMETOOLONG;
		r = path_mkdirs(path, 0700);
	}
	return r;
}

int chunks_open(struct chunks **out, const char *dir, uint64_t most, struct err *e)
{
	_cleanup_free_ struct chunks *c = calloc(1, sizeof(*c));
	_cleanup_free_ char *path = NULL;
	int r;

	if (!c || asprintf(&path, "%s/uploads", dir) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	c->dir = path;
	c->most = most ? most : CHUNKS_MOST;
	r = make_dirs(c);
	if (r < 0)
		return err_set(e, r, "%s: %s", c->dir, err_text(r));
	chunks_sweep(c, clock_wall());
	path = NULL;
	*out = take(c);
	return 0;
}

void chunks_close(struct chunks *c)
{
	if (!c)
		return;
	free(c->dir);
	free(c);
}

const char *chunks_dir(const struct chunks *c)
{
	return c->dir;
}

/* ---- arrival ------------------------------------------------------------------------- */

static void chunk_free(struct chunk *k, bool keep)
{
	int dir = k->fd >= 0 && !keep ? open_dir(k->c) : -1;

	if (dir >= 0) {
		unlinkat(dir, k->temp, 0);
		close(dir);
	}
	if (k->fd >= 0)
		close(k->fd);
	digest_free(k->digest);
	inflater_free(k->inflater);
	free(k);
}

void chunk_discard(struct chunk *k)
{
	if (k)
		chunk_free(k, false);
}

/* Whether another chunk fits. If the limit is reached, sweeps once: chunks whose file is stored go at once. */
static bool has_room(struct chunks *c)
{
	if (atomic_load(&c->total) + CHUNK_MOST <= c->most)
		return true;
	chunks_sweep(c, clock_wall() + CHUNKS_GRACE + 1);
	return atomic_load(&c->total) + CHUNK_MOST <= c->most;
}

static int open_new(struct chunk *k)
{
	_cleanup_close_ int dir = -1;
	struct stat st;

	snprintf(k->temp, sizeof(k->temp), "new/%ld-%llu", (long)getpid(),
		(unsigned long long)atomic_fetch_add(&k->c->number, 1));
	dir = open_dir(k->c);
	if (dir >= 0)
		k->fd = openat(dir, k->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (dir < 0 || k->fd < 0)
		return dir < 0 ? dir : -errno;
	/* A file without a lock belongs to a process that has ended; a sweep removes it. */
	if (flock(k->fd, LOCK_EX | LOCK_NB) == 0 && fstat(k->fd, &st) == 0 && st.st_nlink)
		return 0; /* no sweep removed it before it was locked */
	close(k->fd);
	k->fd = -1;
	return -EEXIST;
}

int chunk_begin(struct chunk **out, struct chunks *c, const struct sha1 *name, bool gzip)
{
	struct chunk *k = calloc(1, sizeof(*k));
	int r = 0;

	if (!k)
		return -ENOMEM;
	k->c = c;
	k->name = *name;
	k->fd = -1;
	k->digest = digest_new("SHA1");
	if (!k->digest || (gzip && inflater_new(&k->inflater, INFLATE_GZIP) < 0))
		r = -ENOMEM;
	if (r == 0 && !chunks_have(c, name)) {
		r = has_room(c) ? open_new(k) : -ENOSPC;
		/* The store's directory was removed, or a file of this name is left from an earlier process. */
		if (r == -ENOENT && (r = make_dirs(c)) == 0)
			r = open_new(k);
		for (unsigned i = 0; r == -EEXIST && i < 100; i++)
			r = open_new(k);
	}
	if (r < 0) {
		chunk_free(k, true);
		return r == -EDQUOT ? -ENOSPC : r;
	}
	*out = k;
	return 0;
}

static int chunk_keep(struct chunk *k, const uint8_t *p, size_t n)
{
	int r;

	if (n > CHUNK_MOST - k->size)
		return -EFBIG;
	digest_add(k->digest, p, n);
	k->size += n;
	r = k->fd >= 0 ? write_all(k->fd, p, n) : 0;
	return r == -EDQUOT ? -ENOSPC : r;
}

int chunk_add(struct chunk *k, const void *p, size_t n)
{
	struct span in = {p, n};
	uint8_t piece[PIECE];

	if (!k->inflater)
		return chunk_keep(k, p, n);
	while (in.n || !k->over) {
		size_t made = sizeof(piece);
		int r = k->over ? -EBADMSG : inflater_step(k->inflater, &in, piece, &made);

		if (r < 0)
			return r;
		k->over = r == 1;
		r = chunk_keep(k, piece, made);
		if (r < 0)
			return r;
		if (!k->over && in.n == 0 && made < sizeof(piece))
			return 0; /* more input is needed */
	}
	return 0;
}

/* Moves the file to its name. The directory of the first two digits is made when it is needed. */
static int chunk_place(struct chunk *k)
{
	_cleanup_close_ int dir = open_dir(k->c);
	char rel[NAME_ROOM], sub[NAME_ROOM];
	int r;

	if (dir < 0)
		return dir;
	chunk_rel(&k->name, rel);
	r = renameat(dir, k->temp, dir, rel) < 0 ? -errno : 0;
	if (r == -ENOENT) {
		snprintf(sub, sizeof(sub), "%.9s", rel);
		r = make_dirs(k->c); /* `chunks` may have been removed */
		if (r < 0 || (mkdirat(dir, sub, 0700) < 0 && errno != EEXIST))
			return r < 0 ? r : -errno;
		r = renameat(dir, k->temp, dir, rel) < 0 ? -errno : 0;
	}
	return r == -EDQUOT ? -ENOSPC : r;
}

int chunk_end(struct chunk *k)
{
	uint8_t made[DIGEST_BYTES];
	int r = 0;

	digest_finish(take(k->digest), made);
	if ((k->inflater && !k->over) || memcmp(made, k->name.bytes, sizeof(k->name.bytes)) != 0)
		r = -EBADMSG;
	if (r == 0 && k->fd >= 0)
		r = chunk_place(k);
	if (r == 0 && k->fd >= 0)
		atomic_fetch_add(&k->c->total, counted(k->size));
	chunk_free(k, r == 0);
	return r;
}

/* ---- use ----------------------------------------------------------------------------- */

/* Sets the time from which the lifetime counts. 0, -errno. */
static int chunk_touch(const struct chunks *c, const struct sha1 *name, int64_t when)
{
	const struct timespec times[] = {{.tv_sec = when}, {.tv_sec = when}};
	_cleanup_close_ int dir = open_dir(c);
	char rel[NAME_ROOM];

	chunk_rel(name, rel);
	return dir < 0 ? dir : utimensat(dir, rel, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

bool chunks_have(struct chunks *c, const struct sha1 *name)
{
	uint64_t size;

	return chunks_size(c, name, &size) == 0 && chunk_touch(c, name, clock_wall()) == 0;
}

void chunks_used(struct chunks *c, const struct sha1 *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		chunk_touch(c, &names[i], clock_wall() - CHUNKS_SECONDS + CHUNKS_GRACE);
}

int chunks_size(const struct chunks *c, const struct sha1 *name, uint64_t *size)
{
	_cleanup_close_ int dir = open_dir(c);
	char rel[NAME_ROOM];
	struct stat st;

	chunk_rel(name, rel);
	if (dir < 0)
		return dir;
	if (fstatat(dir, rel, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > CHUNK_MOST)
		return -ENOENT; /* the chunk that comes replaces it */
	*size = (uint64_t)st.st_size;
	return 0;
}

int chunks_open_one(struct chunks *c, const struct sha1 *name, int *fd, uint64_t *size)
{
	_cleanup_close_ int dir = open_dir(c), file = -1;
	char rel[NAME_ROOM];
	struct stat st;

	if (dir < 0)
		return dir;
	chunk_rel(name, rel);
	file = openat(dir, rel, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0 || fstat(file, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > CHUNK_MOST)
		return -ENOENT;
	*size = (uint64_t)st.st_size;
	*fd = take_fd(&file);
	return 0;
}

static void chunk_remove(struct chunks *c, int dir, const char *rel, uint64_t size)
{
	uint64_t n = counted(size), total = atomic_load(&c->total);

	if (unlinkat(dir, rel, 0) < 0)
		return;
	while (!atomic_compare_exchange_weak(&c->total, &total, total - MIN(total, n)))
		;
}

bool chunks_drop_damaged(struct chunks *c, const struct sha1 *name)
{
	_cleanup_close_ int dir = open_dir(c), fd = -1;
	uint8_t made[DIGEST_BYTES];
	char rel[NAME_ROOM];
	uint64_t size = 0;

	if (dir < 0 || chunks_open_one(c, name, &fd, &size) < 0 || digest_of_fd("SHA1", fd, size, made) < 0 ||
		memcmp(made, name->bytes, sizeof(name->bytes)) == 0)
		return false;
	chunk_rel(name, rel);
	log_warn("%s/%s: damaged, removed", c->dir, rel);
	chunk_remove(c, dir, rel, size);
	return true;
}

/* ---- lifetime ------------------------------------------------------------------------ */

struct sweep {
	int64_t before; /* files that were last touched before this second go */
	bool arriving;	/* files that no process has locked go */
	uint64_t total;
	unsigned removed;
};

static bool is_locked(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static bool is_over(int dir, const char *name, const struct stat *st, const struct sweep *s)
{
	return s->arriving ? !is_locked(dir, name) : st->st_mtim.tv_sec < s->before;
}

static void sweep_dir(int parent, const char *name, struct sweep *s)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		if (is_over(fd, entry->d_name, &st, s) && unlinkat(fd, entry->d_name, 0) == 0)
			s->removed++;
		else
			s->total += counted((uint64_t)st.st_size);
	}
	if (d)
		closedir(d);
}

unsigned chunks_sweep(struct chunks *c, int64_t now)
{
	_cleanup_close_ int dir = open_dir(c);
	struct sweep s = {.before = now - CHUNKS_SECONDS}, filed = {.before = now - FILED_SECONDS};
	struct sweep fresh = {.arriving = true};
	char name[NAME_ROOM];

	if (dir < 0)
		return 0;
	atomic_store(&c->swept, clock_wall());
	for (unsigned i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "chunks/%02x", i);
		sweep_dir(dir, name, &s);
		snprintf(name, sizeof(name), "files/%02x", i);
		sweep_dir(dir, name, &filed);
	}
	sweep_dir(dir, "new", &fresh); /* left by processes that were killed; they count for no limit */
	atomic_store(&c->total, s.total);
	if (s.removed || fresh.removed)
		log_debug(LOG_STORE, "%s: %u chunks removed", c->dir, s.removed + fresh.removed);
	return s.removed + fresh.removed;
}

void chunks_sweep_sometimes(struct chunks *c)
{
	if (clock_wall() - atomic_load(&c->swept) >= SWEEP_SECONDS)
		chunks_sweep(c, clock_wall());
}

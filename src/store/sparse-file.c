/* The files in DIR/sparse/. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sparse-file.h"
#include "base/log.h"
#include "base/util.h"
#include "store/sparse.h"
#include "store/turn.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LOCK_OPEN ((off_t)1 << 62)
#define LOCK_FILL (LOCK_OPEN + 1)

const char *sparse_file_path(const char *name, char room[static SPARSE_REL])
{
	snprintf(room, SPARSE_REL, "sparse/%.16s", name);
	return room;
}

static bool name_is_ours(const char *name)
{
	return strlen(name) == SPARSE_NAME - 1 && strspn(name, "0123456789abcdef") == SPARSE_NAME - 1;
}

static int lock(int fd, short type, off_t at, off_t n)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n};

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

static int lock_for(int fd, bool fill)
{
	int r = fill ? lock(fd, F_WRLCK, LOCK_FILL, 1) : 0;

	return r == 0 ? lock(fd, F_RDLCK, LOCK_OPEN, 1) : r;
}

int sparse_file_lock_open(int fd, bool open)
{
	return lock(fd, open ? F_RDLCK : F_UNLCK, LOCK_OPEN, 1);
}

/* 0, or -EAGAIN when somebody cleaned it away between the open and the lock. */
static int try_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *out)
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];
	struct stat st;
	uint8_t raw[8];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	hex_print(raw, sizeof(raw), name);
	fd = openat(s->dirfd, sparse_file_path(name, rel),
		O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT && mkdirat(s->dirfd, "sparse", 0700) == 0)
		return -EAGAIN; /* someone emptied the directory while this process runs */
	if (fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	if (lock_for(fd, true) < 0 || fstat(fd, &st) < 0 || st.st_nlink != 1)
		return -EAGAIN;
	if (ftruncate(fd, (off_t)size) < 0) {
		int r = -errno;

		unlinkat(s->dirfd, rel, 0);
		return r;
	}
	*out = take_fd(&fd);
	return 0;
}

int sparse_file_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *fd)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < 16 && r == -EAGAIN; i++)
		r = try_new(s, size, name, fd);
	return r == -EAGAIN ? -EIO : r;
}

int sparse_file_open(struct store *s, const char *name, bool fill, int *out, struct stat *st)
{
	const int flags = (fill ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];
	int r;

	if (!name_is_ours(name))
		return -ENOENT;
	fd = openat(s->dirfd, sparse_file_path(name, rel), flags);
	/* Its writer was killed while it was being published. */
	if (fd < 0 && errno == EACCES && fchmodat(s->dirfd, rel, 0600, 0) == 0)
		fd = openat(s->dirfd, rel, flags);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR || errno == EISDIR ? -ENOENT : -errno;
	r = lock_for(fd, fill);
	if (r < 0)
		return r;
	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode) || st->st_nlink == 0)
		return -ENOENT;
	*out = take_fd(&fd);
	return 0;
}

void sparse_file_unlink(struct store *s, const char *name)
{
	char rel[SPARSE_REL];

	if (name_is_ours(name) && unlinkat(s->dirfd, sparse_file_path(name, rel), 0) < 0 &&
		errno != ENOENT)
		log_warn("%s/%s: cannot be removed: %s", s->dir, rel, err_text(errno));
}

int sparse_file_remove_idle(struct store *s, const char *name, uint64_t *bytes, bool *held)
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];
	struct stat st;

	*bytes = 0;
	*held = false;
	if (!name_is_ours(name))
		return 0;
	sparse_file_path(name, rel);
	fd = openat(s->dirfd, rel, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(s->dirfd, rel, 0600, 0) == 0)
		fd = openat(s->dirfd, rel, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -EBUSY;
	if (lock(fd, F_WRLCK, LOCK_OPEN, 1) < 0)
		return -EBUSY;
	*held = lock(fd, F_WRLCK, LOCK_FILL, 1) < 0;
	if (fstat(fd, &st) == 0)
		*bytes = (uint64_t)st.st_blocks * 512;
	sparse_file_unlink(s, name);
	return 0;
}

/* ---- the folder ----------------------------------------------------------------------- */

static bool has_row(struct store *s, const char *name)
{
	_cleanup_turn_ struct turn t = {.s = s};
	struct store_sparse_row row;

	while (turn_next(&t))
		t.r = index_sparse_find_name(t.ix, name, &row);
	return t.r != -ENOENT; /* who knows: it stays */
}

/* Its maker locks a file before the row is written. So what can be locked and has no row, also
 * after it was locked, has neither maker nor use. */
static bool remove_orphan(struct store *s, const char *name)
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];

	if (has_row(s, name))
		return false;
	sparse_file_path(name, rel);
	fd = openat(s->dirfd, rel, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(s->dirfd, rel, 0600, 0) == 0)
		fd = openat(s->dirfd, rel, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || lock(fd, F_WRLCK, LOCK_OPEN, 2) < 0 || has_row(s, name))
		return false;
	return unlinkat(s->dirfd, rel, 0) == 0;
}

static bool is_sound(struct store *s, const struct store_sparse_row *row, uint64_t *bytes)
{
	char rel[SPARSE_REL];
	struct stat st;

	if (!name_is_ours(row->name) ||
		fstatat(s->dirfd, sparse_file_path(row->name, rel), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*bytes = (uint64_t)st.st_blocks * 512;
	return S_ISREG(st.st_mode) && (uint64_t)st.st_size == row->validator.size;
}

/* A process that was killed when the file was removed, or was published, and the row was not. */
static bool has_unsound_row(struct store *s)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes;

	while (store_list_sparse(s, row.id, &row, 1) > 0)
		if (!is_sound(s, &row, &bytes))
			return true;
	return false;
}

static int sweep_in(struct turn *t)
{
	int r = index_begin(t->ix);

	if (r == 0)
		r = sparses_sweep(t->s, t->ix);
	return r == 0 ? index_commit(t->ix) : r;
}

static void sweep_rows(struct store *s)
{
	_cleanup_turn_ struct turn t = {.s = s, .write = true};

	while (turn_next(&t))
		t.r = sweep_in(&t);
}

void sparses_clean(struct store *s)
{
	int fd = openat(s->dirfd, "sparse", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned n = 0;

	if (has_unsound_row(s))
		sweep_rows(s);
	while (d && (entry = readdir(d)))
		n += name_is_ours(entry->d_name) && remove_orphan(s, entry->d_name);
	if (n)
		log_debug(LOG_STORE, "%s: removed %u files with holes that nothing names", s->dir, n);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

int sparses_sweep(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes;
	int r;

	while ((r = index_sparse_next(ix, row.id, &row)) == 0) {
		if (!is_sound(s, &row, &bytes))
			r = index_sparse_drop(ix, row.name);
		else if (bytes > row.allocated)
			r = index_sparse_grew(ix, row.name, row.present, bytes, row.used);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

uint64_t sparses_uncommitted(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes, n = 0;

	while (index_sparse_next(ix, row.id, &row) == 0)
		if (is_sound(s, &row, &bytes) && bytes > row.allocated)
			n += bytes - row.allocated;
	return n;
}

int sparse_forget(struct index *ix, const char *canon, char name[static 17])
{
	struct store_sparse_row row;
	int r = index_sparse_get(ix, canon, &row);

	name[0] = '\0';
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	memcpy(name, row.name, sizeof(row.name));
	return index_sparse_drop(ix, row.name);
}

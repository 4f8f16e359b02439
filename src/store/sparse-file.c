/* Sparse files: names, opens, locks and removes the files in DIR/sparse/, and makes the index agree with them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sparse-file.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/session.h"
#include "store/sparse.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LOCK_OPEN ((off_t)1 << 62) /* locked, shared, by every process that uses the file */
#define LOCK_FILL (LOCK_OPEN + 1)  /* locked by the process that fills it */

const char *sparse_file_path(const char *name, char room[static SPARSE_REL])
{
	snprintf(room, SPARSE_REL, "sparse/%.16s", name);
	return room;
}

bool sparse_file_is_name(const char *name)
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

static int lock_to_fill(int fd)
{
	return lock_for(fd, true);
}

int sparse_file_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *fd)
{
	int r = dir_new_file(s->dirfd, "sparse", "", lock_to_fill, name, SPARSE_NAME, fd);

	if (r == 0 && ftruncate(*fd, (off_t)size) < 0) {
		r = -errno;
		sparse_file_unlink(s, name);
		close(take_fd(fd));
	}
	return r == -EAGAIN ? -EIO : r;
}

/* Opens a file, also one whose writer was killed while it published the file, and so had made it read-only. -1: errno
 * is set. */
static int open_mended(struct store *s, const char *rel, int flags)
{
	int fd = openat(s->dirfd, rel, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && fchmodat(s->dirfd, rel, 0600, 0) == 0)
		fd = openat(s->dirfd, rel, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd;
}

int sparse_file_open(struct store *s, const char *name, bool fill, int *out, struct stat *st)
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];
	int r;

	if (!sparse_file_is_name(name))
		return -ENOENT;
	fd = open_mended(s, sparse_file_path(name, rel), fill ? O_RDWR : O_RDONLY);
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

	if (sparse_file_is_name(name) && unlinkat(s->dirfd, sparse_file_path(name, rel), 0) < 0 &&
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
	if (!sparse_file_is_name(name))
		return 0;
	sparse_file_path(name, rel);
	fd = open_mended(s, rel, O_RDWR);
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

bool sparse_file_is_sound(struct store *s, const char *name, uint64_t size, uint64_t *bytes)
{
	char rel[SPARSE_REL];
	struct stat st;

	if (!sparse_file_is_name(name) ||
		fstatat(s->dirfd, sparse_file_path(name, rel), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*bytes = (uint64_t)st.st_blocks * 512;
	return S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

bool sparse_file_remove_orphan(struct store *s, const char *name, bool (*has_row)(struct store *s, const char *name))
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];

	if (has_row(s, name))
		return false;
	fd = open_mended(s, sparse_file_path(name, rel), O_RDWR);
	if (fd < 0 || lock(fd, F_WRLCK, LOCK_OPEN, 2) < 0 || has_row(s, name))
		return false;
	return unlinkat(s->dirfd, rel, 0) == 0;
}

/* ---- their rows ------------------------------------------------------------------------ */

int sparses_sweep(struct store *s, struct index *ix)
{
	struct store_sparse_row row = {.id = 0};
	uint64_t bytes;
	int r;

	while ((r = index_sparse_next(ix, row.id, &row)) == 0) {
		if (!sparse_file_is_sound(s, row.name, row.validator.size, &bytes))
			r = index_sparse_drop(ix, row.name);
		else if (bytes > row.allocated)
			r = index_sparse_grew(ix, row.name, row.present, bytes, row.used);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
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

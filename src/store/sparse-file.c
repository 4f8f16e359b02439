/* Sparse files: names, opens, locks and removes the files in DIR/sparse/. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/sparse-file.h"
#include "base/log.h"
#include "base/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

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

/* 0, or -EAGAIN when another process removed the file between the open and the lock. */
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
		return -EAGAIN; /* the directory was emptied while this process runs */
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

	if (!sparse_file_is_name(name))
		return -ENOENT;
	fd = openat(s->dirfd, sparse_file_path(name, rel), flags);
	/* The writer of the file was killed while it published the file. */
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

	if (sparse_file_is_name(name) && unlinkat(s->dirfd, sparse_file_path(name, rel), 0) < 0 &&
		errno != ENOENT)
		log_warn("%s/%s: cannot be removed: %s", s->dir, rel, err_text(errno));
}

/* Opens a file to lock it, also one whose writer was killed while it published the file. -1: errno is set. */
static int open_to_lock(struct store *s, const char *rel)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(s->dirfd, rel, flags);

	if (fd < 0 && errno == EACCES && fchmodat(s->dirfd, rel, 0600, 0) == 0)
		fd = openat(s->dirfd, rel, flags);
	return fd;
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
	fd = open_to_lock(s, rel);
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

int sparse_file_open_unused(struct store *s, const char *name)
{
	_cleanup_close_ int fd = -1;
	char rel[SPARSE_REL];

	fd = open_to_lock(s, sparse_file_path(name, rel));
	return fd < 0 || lock(fd, F_WRLCK, LOCK_OPEN, 2) < 0 ? -EBUSY : take_fd(&fd);
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

/* Makes paths absolute, makes directories, reads and writes small files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/buf.h"
#include "base/util.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool path_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_name_ok(const char *name, size_t n)
{
	if (n == 0 || n > NAME_MAX)
		return false;
	if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
			return false;
	return true;
}

const char *path_base(const char *path)
{
	const char *base = path;

	for (const char *p = path; *p; p++)
		if (*p == '/' || *p == '\\')
			base = p + 1;
	return base;
}

int path_mkdirs(const char *path, mode_t mode)
{
	_cleanup_free_ char *part = strdup(path);

	if (!part)
		return -ENOMEM;
	for (char *p = part + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
		*p = c;
		if (c == '\0')
			return 0;
	}
}

int path_make_parents(const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (!dir)
		return slash && slash > path ? -ENOMEM : 0;
	return path_mkdirs(dir, mode);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	return remove(path);
}

void path_remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

char *path_absolute(const char *path)
{
	struct buf b = BUF_UP_TO(64 << 10);
	char cwd[PATH_MAX];

	if (path[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return NULL;
		buf_adds(&b, strcmp(cwd, "/") == 0 ? "" : cwd);
	}
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && memcmp(path, "..", 2) == 0) {
			while (b.n && b.p[--b.n] != '/')
				;
			if (b.p)
				b.p[b.n] = '\0';
		} else if (n && !(n == 1 && path[0] == '.')) {
			buf_adds(&b, "/");
			buf_add(&b, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
	if (b.n == 0)
		buf_adds(&b, "/");
	return buf_take(&b, NULL);
}

int write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int path_open_file(const char *path, int *fd, uint64_t *size, struct err *e)
{
	_cleanup_close_ int found = open(path, O_PATH | O_CLOEXEC), f = -1;
	char again[40];
	struct stat st;

	if (found < 0 || fstat(found, &st) < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s",
			S_ISDIR(st.st_mode) ? err_text(EISDIR) : "is not a regular file");
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	f = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f < 0) /* the file was found, /proc was not */
		return err_set(e, errno == ENOENT ? -EIO : -errno, "%s",
			errno == ENOENT ? "cannot be opened; is /proc mounted?" : err_text(errno));
	*size = (uint64_t)st.st_size;
	*fd = take_fd(&f);
	return 0;
}

int path_write_synced(int dirfd, const char *name, const void *p, size_t n, mode_t mode)
{
	char temp[NAME_MAX + 1];
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(temp, sizeof(temp), ".%.200s.%d.%lx", name, (int)getpid(), (long)pthread_self());
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = write_all(fd, p, n);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, temp, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dirfd, temp, 0);
	else if (fsync(dirfd) < 0)
		r = -errno;
	return r;
}

int path_fill_buf(void *ctx, int fd)
{
	const struct buf *b = ctx;

	return write_all(fd, b->p, b->n);
}

int path_replace(const char *path, mode_t mode, int (*fill)(void *ctx, int fd), void *ctx)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill(ctx, fd);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (close(take_fd(&fd)) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

int path_read(int dirfd, const char *name, size_t most, char **out, size_t *n)
{
	int flags = dirfd == AT_FDCWD ? 0 : O_NONBLOCK | O_NOCTTY;
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | flags);
	_cleanup_buf_ struct buf b = BUF_UP_TO(most);
	char chunk[4096];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (flags && !S_ISREG(st.st_mode))
		return -EINVAL;
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		r = buf_add(&b, chunk, (size_t)got);
		if (r < 0)
			return r;
	}
	*out = buf_take(&b, n);
	return *out ? 0 : -ENOMEM;
}

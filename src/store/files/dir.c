/* The store's directory: opening and checking it, and its blobs and labels by name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/dir.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#define REST 62 /* digits of the file name of a blob: the first two of 64 digits name its directory */

/* Opens the directory at `path` with O_PATH. -ELOOP: the directory lies in a symfs mount. The mount may
 * belong to this process, which would wait for itself, so the check asks no file system. */
static int open_path(const char *path, int *out)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : mounts_refuse_symfs(fd);

	if (r == 0)
		*out = take_fd(&fd);
	return r;
}

static int judge(int fd, const char *path, struct err *e)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return err_set(e, -errno, "%s: %s", path, err_text(errno));
	if (dir_type_is_remote((unsigned long)fs.f_type))
		return err_set(e, -EREMOTE,
			"%s: lies on a network file system, where locks cannot be trusted: choose "
			"another directory with --cache",
			path);
	if (st.st_uid != geteuid())
		return err_set(e, -EPERM, "%s: belongs to user %u, a store has one owner", path,
			(unsigned)st.st_uid);
	/* A user that can write here controls the files that debuggers read. */
	if (st.st_mode & S_IWOTH)
		return err_set(e, -EPERM, "%s: any user can write to it; chmod o-w it, or choose "
			"another directory with --cache", path);
	return 0;
}

static int subdir(int dirfd, const char *path, const char *name, struct err *e)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return err_set(e, -errno, "%s/%s: cannot be made: %s", path, name, err_text(errno));
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno, "%s/%s: %s", path, name, err_text(errno));
	if (faccessat(dirfd, name, W_OK | X_OK, AT_EACCESS) < 0)
		return err_set(
			e, -errno, "%s/%s: cannot be written: %s", path, name, err_text(errno));
	return 0;
}

int dir_open(int *out, const char *path, struct err *e)
{
	_cleanup_close_ int at = -1, fd = -1;
	int r;

	r = path_mkdirs(path, 0700);
	if (r < 0)
		return err_set(e, r, "%s: cannot be made: %s", path, err_text(r));
	r = open_path(path, &at);
	if (r == -ELOOP)
		return err_set(e, r, "%s: lies in a symfs mount; choose another directory with --cache", path);
	if (r == 0)
		fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, r < 0 ? r : -errno, "%s: %s", path, err_text(r < 0 ? r : errno));
	r = judge(fd, path, e);
	if (r < 0)
		return r;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return err_set(e, -errno, "%s: cannot be written: %s", path, err_text(errno));
	r = subdir(fd, path, "blobs", e);
	if (r == 0)
		r = subdir(fd, path, "partial", e);
	if (r == 0)
		r = subdir(fd, path, "sparse", e);
	if (r < 0)
		return r;
	*out = take_fd(&fd);
	return 0;
}

/* A directory that cannot be read, as on a failing disk, may still be there; then the result is false. */
bool dir_is_elsewhere(int dirfd, const char *path)
{
	_cleanup_close_ int at = -1;
	struct stat here, there;
	int r;

	if (fstat(dirfd, &here) < 0)
		return false;
	if (here.st_nlink == 0)
		return true;
	r = open_path(path, &at);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
	if (fstat(at, &there) < 0)
		return false;
	return here.st_dev != there.st_dev || here.st_ino != there.st_ino;
}

static bool is_lower_hex(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (hex_value(p[i]) < 0 || (p[i] >= 'A' && p[i] <= 'F'))
			return false;
	return true;
}

bool dir_sha256_ok(const char *sha256)
{
	return strlen(sha256) == SHA256_TEXT - 1 && is_lower_hex(sha256, SHA256_TEXT - 1);
}

const char *dir_blob(const char *sha256, char room[static DIR_REL])
{
	snprintf(room, DIR_REL, "blobs/%.2s/%.62s", sha256, sha256 + 2);
	return room;
}

const char *dir_label(const char *sha256, char room[static DIR_REL])
{
	snprintf(room, DIR_REL, "blobs/%.2s/%.62s.key", sha256, sha256 + 2);
	return room;
}

int dir_fan_out(int dirfd, const char *sha256, int *out)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "blobs/%.2s", sha256);
	if (mkdirat(dirfd, name, 0700) < 0 && errno == ENOENT) {
		/* The directory was emptied while this process runs. */
		if (mkdirat(dirfd, "blobs", 0700) < 0 && errno != EEXIST)
			return -errno;
		if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*out = fd;
	return 0;
}

int dir_blob_open(int dirfd, const char *sha256, int *out, struct stat *st)
{
	char rel[DIR_REL];
	_cleanup_close_ int fd = -1;

	if (!dir_sha256_ok(sha256))
		return -ENOENT;
	fd = openat(dirfd, dir_blob(sha256, rel), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? -ENOENT : -errno;
	if (fstat(fd, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -ENOENT;
	*out = take_fd(&fd);
	return 0;
}

int dir_blob_stat(int dirfd, const char *sha256, struct stat *st)
{
	char rel[DIR_REL];

	if (!dir_sha256_ok(sha256))
		return -ENOENT;
	if (fstatat(dirfd, dir_blob(sha256, rel), st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	return S_ISREG(st->st_mode) ? 0 : -ENOENT;
}

int dir_blob_remove(int dirfd, const char *sha256)
{
	char rel[DIR_REL];
	int r = 0;

	if (!dir_sha256_ok(sha256))
		return 0;
	if (unlinkat(dirfd, dir_label(sha256, rel), 0) < 0 && errno != ENOENT)
		r = -errno;
	if (unlinkat(dirfd, dir_blob(sha256, rel), 0) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

/* -EAGAIN: another process removed the file between the open and the lock, or made the folder. */
static int try_new(int dirfd, const char *folder, const char *head, int (*lock)(int fd), char *name, size_t room,
	int *out)
{
	_cleanup_close_ int fd = -1;
	char hex[17], rel[DIR_REL];
	struct stat st;

	if (hex_random(8, hex) < 0)
		return -EIO;
	snprintf(name, room, "%s%s", head, hex);
	snprintf(rel, sizeof(rel), "%s/%s", folder, name);
	fd = openat(dirfd, rel, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT && mkdirat(dirfd, folder, 0700) == 0)
		return -EAGAIN; /* the directory was emptied while this process runs */
	if (fd < 0) /* EEXIST of mkdirat(), too */
		return errno == EEXIST ? -EAGAIN : -errno;
	if (lock(fd) < 0 || fstat(fd, &st) < 0 || st.st_nlink != 1)
		return -EAGAIN;
	*out = take_fd(&fd);
	return 0;
}

int dir_new_file(int dirfd, const char *folder, const char *head, int (*lock)(int fd), char *name, size_t room,
	int *out)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < 16 && r == -EAGAIN; i++)
		r = try_new(dirfd, folder, head, lock, name, room, out);
	return r;
}

/* ".REST.key.PID.THREAD": the file that path_write_synced() leaves behind when the process is killed. */
static bool is_torn_label(const char *name)
{
	return name[0] == '.' && strlen(name) > REST + 6 && is_lower_hex(name + 1, REST) &&
	       strncmp(name + 1 + REST, ".key.", 5) == 0;
}

static int walk_one(int fd, const char *prefix,
	int (*each)(void *ctx, enum dir_kind kind, const char *sha256), void *ctx)
{
	char sha256[SHA256_TEXT];
	struct dirent *entry;
	DIR *d = fdopendir(fd);
	int r = 0;

	if (!d) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(d))) {
		const char *name = entry->d_name;
		size_t n = strlen(name);
		bool label = n == REST + 4 && strcmp(name + REST, ".key") == 0;

		if (is_torn_label(name))
			unlinkat(dirfd(d), name, 0);
		if ((n != REST && !label) || !is_lower_hex(name, REST))
			continue;
		snprintf(sha256, sizeof(sha256), "%.2s%.62s", prefix, name);
		r = each(ctx, label ? DIR_LABEL : DIR_BLOB, sha256);
	}
	closedir(d);
	return r;
}

int dir_walk(int dirfd, int (*each)(void *ctx, enum dir_kind kind, const char *sha256), void *ctx)
{
	for (unsigned i = 0; i < 256; i++) {
		char prefix[3], name[16];
		int fd, r;

		snprintf(prefix, sizeof(prefix), "%02x", i);
		snprintf(name, sizeof(name), "blobs/%s", prefix);
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
			continue;
		if (fd < 0)
			return -errno;
		r = walk_one(fd, prefix, each, ctx);
		if (r != 0)
			return r;
	}
	return 0;
}

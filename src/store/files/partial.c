/* The drafts in DIR/partial/: creates drafts, and removes drafts of dead processes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/partial.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define NAME_HEAD "draft-"

static bool is_draft_name(const char *name)
{
	size_t head = strlen(NAME_HEAD);

	return strlen(name) == head + 16 && strncmp(name, NAME_HEAD, head) == 0 &&
	       strspn(name + head, "0123456789abcdef") == 16;
}

static int lock_whole(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

/* 0; -EAGAIN: another process removed the file between the open and the lock, or made the directory. */
static int try_new(int dirfd, char name[static PARTIAL_NAME], int *out)
{
	_cleanup_close_ int fd = -1;
	uint8_t raw[8];
	char hex[17], rel[64];
	struct stat st;

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	hex_print(raw, sizeof(raw), hex);
	snprintf(name, PARTIAL_NAME, NAME_HEAD "%s", hex);
	snprintf(rel, sizeof(rel), "partial/%s", name);
	fd = openat(dirfd, rel, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT && mkdirat(dirfd, "partial", 0700) == 0)
		return -EAGAIN;
	if (fd < 0) /* EEXIST of mkdirat(), too */
		return errno == EEXIST ? -EAGAIN : -errno;
	if (lock_whole(fd) < 0 || fstat(fd, &st) < 0 || st.st_nlink != 1)
		return -EAGAIN;
	*out = take_fd(&fd);
	return 0;
}

int partial_new(int dirfd, char name[static PARTIAL_NAME], int *fd)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < 16 && r == -EAGAIN; i++)
		r = try_new(dirfd, name, fd);
	return r == -EAGAIN ? -ENOTDIR : r; /* `partial` exists, but leads to no directory */
}

static DIR *open_partial(int dirfd)
{
	int fd = openat(dirfd, "partial", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* The writer locks its draft before it does anything else with the draft. So a draft that can be locked
 * here has no writer, or its writer will notice that the file is gone (try_new()). */
static bool remove_orphan(int partial, const char *name)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int fd = -1, sealed = -1;

	fd = openat(partial, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return lock_whole(fd) == 0 && unlinkat(partial, name, 0) == 0;
	if (errno != EACCES)
		return false;
	/* A sealed draft was locked long ago, so testing the lock is enough. */
	sealed = openat(partial, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return sealed >= 0 && fcntl(sealed, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK &&
	       unlinkat(partial, name, 0) == 0;
}

void partial_clean(int store, const char *path)
{
	DIR *d = open_partial(store);
	struct dirent *entry;
	unsigned n = 0;

	while (d && (entry = readdir(d)))
		n += is_draft_name(entry->d_name) && remove_orphan(dirfd(d), entry->d_name);
	if (n)
		log_debug(LOG_STORE, "%s: removed %u drafts of dead processes", path, n);
	if (d)
		closedir(d);
}

int partial_count(int dirfd, uint64_t *out)
{
	DIR *d = open_partial(dirfd);
	struct dirent *entry;
	uint64_t n = 0;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		n += is_draft_name(entry->d_name);
	closedir(d);
	*out = n;
	return 0;
}

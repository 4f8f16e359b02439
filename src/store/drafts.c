/* The drafts of dead processes: which files of partial/ they are, how many, and their removal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "store/handle.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

static bool is_draft_name(const char *name)
{
	size_t head = strlen(DRAFT_HEAD);

	return strlen(name) == head + 16 && strncmp(name, DRAFT_HEAD, head) == 0 &&
	       strspn(name + head, "0123456789abcdef") == 16;
}

int draft_lock(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &l) < 0 ? -errno : 0;
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
		return draft_lock(fd) == 0 && unlinkat(partial, name, 0) == 0;
	if (errno != EACCES)
		return false;
	/* A sealed draft was locked long ago, so testing the lock is enough. */
	sealed = openat(partial, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return sealed >= 0 && fcntl(sealed, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK &&
	       unlinkat(partial, name, 0) == 0;
}

void drafts_clean(int store, const char *path)
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

int drafts_count(int dirfd, uint64_t *out)
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

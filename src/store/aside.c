/* Files beside the index: what could be found out anew, but at a price. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "store/handle.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int open_dir(struct store *s, bool make)
{
	int fd;

	if (make && mkdirat(s->dirfd, "aside", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(s->dirfd, "aside", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int store_aside_write(struct store *s, const char *name, const void *p, size_t n)
{
	_cleanup_close_ int dir = open_dir(s, true);

	return dir < 0 ? dir : path_write_synced(dir, name, p, n, 0600);
}

static int read_all(int fd, uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = read(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ENODATA;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int store_aside_read(struct store *s, const char *name, size_t most, void **out, size_t *n)
{
	_cleanup_close_ int dir = open_dir(s, false), fd = -1;
	struct stat st;
	void *p;
	int r;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > most)
		return -EFBIG;
	p = malloc((size_t)st.st_size + 1);
	if (!p)
		return -ENOMEM;
	r = read_all(fd, p, (size_t)st.st_size);
	if (r < 0) {
		free(p);
		return r;
	}
	*out = p;
	*n = (size_t)st.st_size;
	return 0;
}

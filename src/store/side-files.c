/* Notes (a line each, in the index) and side files (in DIR/aside/). Both keep facts that processes found
 * out about sources, because finding these facts again is costly. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "store/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int store_note_set(struct store *s, const char *name, const char *text)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (session_next(&ses))
		ses.r = index_meta_set(ses.ix, full, text);
	return ses.r;
}

int store_note(struct store *s, const char *name, char text[static 201])
{
	_cleanup_session_ struct session ses = {.s = s};
	char full[256];

	snprintf(full, sizeof(full), "note:%.240s", name);
	while (session_next(&ses))
		ses.r = index_meta(ses.ix, full, text, 201);
	return ses.r;
}

static int open_dir(struct store *s, bool make)
{
	int fd;

	if (make && mkdirat(s->dirfd, "aside", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(s->dirfd, "aside", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int store_side_file_write(struct store *s, const char *name, const void *p, size_t n)
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

int store_side_file_read(struct store *s, const char *name, size_t most, void **out, size_t *n)
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

/* Makes and removes the directory of links by which local files are a source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/local-files.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>

#define COPY_MOST ((uint64_t)1 << 30)

static int make_directory(struct local_files *l)
{
	const char *tmp = getenv("TMPDIR");

	if (l->dir[0])
		return 0;
	if ((size_t)snprintf(l->dir, sizeof(l->dir), "%s/symfs-files.XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp") >=
			sizeof(l->dir) ||
		!mkdtemp(l->dir)) {
		l->dir[0] = '\0';
		return errno ? -errno : -ENAMETOOLONG;
	}
	return 0;
}

static int link_as(const struct local_files *l, const char *path, const char *build_id, const char *ending)
{
	char at[PATH_MAX + 300];

	snprintf(at, sizeof(at), "%s/.build-id/%.2s/%.250s%s", l->dir, build_id, build_id + 2, ending);
	return symlink(path, at) < 0 && errno != EEXIST ? -errno : 0;
}

int local_files_add(struct local_files *l, const char *path, const char *build_id, bool debug)
{
	_cleanup_free_ char *full = path_absolute(path);
	char at[PATH_MAX + 32];
	int r = full ? 0 : -ENOMEM;

	if (r == 0 && strlen(build_id) < 4)
		r = -EINVAL;
	if (r == 0)
		r = make_directory(l);
	if (r < 0)
		return r;
	snprintf(at, sizeof(at), "%s/.build-id/%.2s", l->dir, build_id);
	r = path_mkdirs(at, 0700);
	if (r == 0)
		r = link_as(l, full, build_id, "");
	return r == 0 && debug ? link_as(l, full, build_id, ".debug") : r;
}

int local_files_copy(struct local_files *l, int fd, uint64_t size, const char *build_id, bool debug)
{
	_cleanup_close_ int to = -1;
	char at[PATH_MAX + 32];
	int r = size > COPY_MOST - l->copied ? -EFBIG : make_directory(l);

	if (r < 0)
		return r;
	snprintf(at, sizeof(at), "%s/%.24s", l->dir, build_id);
	to = open(at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	l->copied += size;
	for (off_t from = 0; (uint64_t)from < size;) {
		ssize_t n = sendfile(to, fd, &from, (size_t)(size - (uint64_t)from));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return local_files_add(l, at, build_id, debug);
}

void local_files_source(struct local_files *l, struct app_args *args)
{
	if (l->dir[0])
		args->links = l->dir;
}

void local_files_release(struct local_files *l)
{
	if (l->dir[0])
		path_remove_tree(l->dir);
	l->dir[0] = '\0';
}

/* Finds the files that a word of the command line names: those in a directory, or the debug files of a bundle. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/bundle.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define INSIDE "Contents/Resources/DWARF"
#define DEPTH_MOST 64 /* directories in directories */
#define PATH_MOST (64 << 10)

static int bundle_add(struct bundle *b, char *path)
{
	if (!path)
		return -ENOMEM;
	b->files[b->n++] = path;
	return 0;
}

/* Adds only regular files: a link in a bundle can lead anywhere. */
static int add_file(struct bundle *b, const char *dir, const char *name)
{
	char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	if (b->n < BUNDLE_MOST && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		return bundle_add(b, path);
	free(path);
	return 0;
}

static int add_all(struct bundle *b, const char *dir, struct err *e)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), r = 0;

	if (n < 0)
		return err_set(e, -errno, "%s: %s", dir, err_text(errno));
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_file(b, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (r == 0 && b->n == 0)
		return err_set(e, -ENOENT, "has no regular file in " INSIDE);
	return r;
}

int bundle_open(struct bundle *b, const char *word, struct err *e)
{
	_cleanup_free_ char *dir = NULL;
	int len = (int)strlen(word);

	*b = (struct bundle){.files = calloc(BUNDLE_MOST, sizeof(*b->files))};
	while (len > 1 && word[len - 1] == '/')
		len--;
	if (!b->files || asprintf(&dir, "%.*s/" INSIDE, len, word) < 0) {
		dir = NULL;
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	}
	return path_is_dir(dir) ? add_all(b, dir, e) : bundle_add(b, strdup(word));
}

void bundle_release(struct bundle *b)
{
	for (unsigned i = 0; i < b->n; i++)
		free(b->files[i]);
	free(b->files);
	*b = (struct bundle){.n = 0};
}

/* ---- directories --------------------------------------------------------------------- */

struct walk {
	walk_each *each;
	void *ctx;
};

static int refuse(const struct walk *w, const char *path, bool named, int r, const char *why)
{
	return w->each(w->ctx, &(struct walk_file){.path = path, .named = named, .fd = -1, .r = r, .why = why});
}

static int visit(const struct walk *w, const char *path, unsigned depth);

static int visit_dir(const struct walk *w, const char *path, unsigned depth)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort), r = 0;

	if (n < 0)
		return refuse(w, path, depth == 0, -errno, err_text(errno));
	for (int i = 0; i < n; i++) {
		_cleanup_buf_ struct buf sub = BUF_UP_TO(PATH_MOST);
		const char *name = names[i]->d_name;

		if (r == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			r = buf_addf(&sub, "%s/%s", path, name);
			r = r == 0 ? visit(w, buf_text(&sub), depth + 1) : r;
		}
		free(names[i]);
	}
	free(names);
	return r;
}

static int visit(const struct walk *w, const char *path, unsigned depth)
{
	_cleanup_close_ int fd = -1;
	bool named = depth == 0;
	struct stat st;

	if ((named ? stat(path, &st) : lstat(path, &st)) < 0)
		return refuse(w, path, named, -errno, err_text(errno));
	if (S_ISDIR(st.st_mode))
		return depth < DEPTH_MOST ? visit_dir(w, path, depth) : refuse(w, path, false, -ELOOP, "too deep");
	if (!S_ISREG(st.st_mode))
		return named ? refuse(w, path, true, -EINVAL, "not a file") : 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (named ? 0 : O_NOFOLLOW));
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(w, path, named, -errno, err_text(errno));
	if (!S_ISREG(st.st_mode)) /* another file has taken its place */
		return 0;
	return w->each(w->ctx, &(struct walk_file){.path = path, .named = named, .fd = fd,
		.size = (uint64_t)st.st_size});
}

int walk_files(const char *path, walk_each *each, void *ctx)
{
	_cleanup_free_ char *copy = strdup(path);
	size_t n = strlen(path);

	while (copy && n > 1 && copy[n - 1] == '/' && path_is_dir(path)) /* "FILE/" names nothing */
		copy[--n] = '\0';
	return copy ? visit(&(struct walk){each, ctx}, copy, 0) : -ENOMEM;
}

/* ---- copies -------------------------------------------------------------------------- */

static int copy_rest(int from, int to)
{
	char chunk[64 << 10];
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(from, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		r = n > 0 ? write_all(to, chunk, (size_t)n) : 0;
	}
	return r;
}

int files_copy(int fd, int to)
{
	_cleanup_close_ int from = -1;
	char self[40];
	ssize_t n;

	/* A descriptor of its own, because the blob's offset belongs to all its users. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	from = open(self, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -errno;
	while ((n = copy_file_range(from, NULL, to, NULL, 1u << 30, 0)) > 0)
		;
	return n == 0 ? 0 : copy_rest(from, to);
}

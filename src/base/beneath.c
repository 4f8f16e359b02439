/* Opens files below a directory and judges each link on the way.
 *
 * A path is resolved in hops. In each hop the kernel opens the directory part, and this file opens the last
 * name. If that is a link, its target makes the path of the next hop, again from the base. All checks are on
 * open descriptors, so that a link that is replaced meanwhile changes nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/mounts.h"
#include "base/util.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LINKS_MOST 40	    /* links in one path, as in the kernel */
#define DEPTH_MOST 64	    /* directories below the base that are held open */
#define REST_MAX (2 * PATH_MAX) /* bytes of a path and the target of a link in it */

/* One attempt to resolve a path. */
struct way {
	const struct beneath *b;
	uid_t owner;	/* the owner of the base */
	bool may_leave; /* links may lead out of the base */
	bool linked;  /* a link was met: only a link may lead out, never the path of the caller */
	bool foreign; /* a link of another owner was met */
	bool left;    /* the last hop ended outside of the base */
	bool closed;  /* walk() met a directory that not every user may search */
	/* Owners of the links on the way. Root and this process's user do not count, because these two may read
	 * what this process reads. */
	enum { AUTHORS_NONE, AUTHORS_ONE, AUTHORS_MANY } authors;
	uid_t author; /* the owner, if `authors` is AUTHORS_ONE */
};

/* ---- steps -------------------------------------------------------------------------- */

/* The walk of one hop to a directory, one name after the other. */
struct steps {
	struct way *w;
	unsigned links; /* met so far */
	/* The open directories from below the base to the current directory, for `..`. Outside of the base,
	 * only the current directory is open. */
	int dirs[DEPTH_MOST];
	unsigned n;
	char rest[REST_MAX]; /* the part of the path that is still to be walked */
};

static int current_dir(const struct steps *s)
{
	return s->n ? s->dirs[s->n - 1] : s->w->b->base;
}

static void step_back(struct steps *s)
{
	close(s->dirs[--s->n]);
}

static void cleanup_steps(struct steps **s)
{
	while (*s && (*s)->n)
		step_back(*s);
	free(*s);
}

/* Takes ownership of the descriptor, also on error. */
static int step_into(struct steps *s, int fd)
{
	if (fd < 0)
		return -errno;
	if (s->w->left && s->n)
		step_back(s);
	if (s->n == DEPTH_MOST) {
		close(fd);
		return -ENAMETOOLONG;
	}
	s->dirs[s->n++] = fd;
	return 0;
}

static int step_out(struct steps *s, int at, const char *name)
{
	struct way *w = s->w;

	if (!w->may_leave || !w->linked || (w->b->links == BENEATH_OWNERS && w->foreign))
		return -EXDEV;
	w->left = true;
	return step_into(s, openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static int step_up(struct steps *s)
{
	if (s->w->left)
		return step_into(s, openat(current_dir(s), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!s->n)
		return step_out(s, s->w->b->base, "..");
	step_back(s);
	return 0;
}

/* Puts the target of a link in front of the rest of the path. */
static int put_before(char rest[static REST_MAX], const char *target)
{
	char all[REST_MAX];
	int n = snprintf(all, sizeof(all), "%s/%s", target, rest);

	if (n < 0 || n >= REST_MAX)
		return -ENAMETOOLONG;
	memcpy(rest, all, (size_t)n + 1);
	return 0;
}

static void note_author(struct way *w, uid_t uid)
{
	if (uid == 0 || uid == geteuid() || (w->authors == AUTHORS_ONE && uid == w->author))
		return;
	w->authors = w->authors == AUTHORS_NONE ? AUTHORS_ONE : AUTHORS_MANY;
	w->author = uid;
}

/* Records the owner of a link. 0; -EXDEV: the link may not be followed. */
static int judge_link(struct way *w, const struct stat *st)
{
	if (w->b->links == BENEATH_NONE)
		return -EXDEV;
	w->linked = true;
	note_author(w, st->st_uid);
	w->foreign = w->foreign || st->st_uid != w->owner;
	return w->left && w->b->links == BENEATH_OWNERS && w->foreign ? -EXDEV : 0;
}

static int read_link(int fd, char target[static PATH_MAX])
{
	ssize_t n = readlinkat(fd, "", target, PATH_MAX);

	if (n < 0)
		return -errno;
	if (n == PATH_MAX)
		return -ENAMETOOLONG;
	target[n] = '\0';
	return n ? 0 : -ENOENT;
}

static int step_through_link(struct steps *s, const char *name)
{
	_cleanup_close_ int fd = openat(current_dir(s), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX];
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return -ENOTDIR;
	if (++s->links > LINKS_MOST)
		return -ENOENT;
	r = judge_link(s->w, &st);
	if (r == 0)
		r = read_link(fd, target);
	if (r == 0)
		r = put_before(s->rest, target);
	return r;
}

/* Tries to open a directory first, so that automounts are mounted. */
static int step(struct steps *s, const char *name)
{
	struct stat st;
	int fd;

	if (strcmp(name, "..") == 0)
		return step_up(s);
	fd = openat(current_dir(s), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return step_through_link(s, name);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !(st.st_mode & S_IXOTH)))
		s->w->closed = true;
	return step_into(s, fd);
}

static int next_name(struct steps *s, char name[static NAME_MAX + 1])
{
	size_t n = strcspn(s->rest, "/");

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, s->rest, n);
	name[n] = '\0';
	n += strspn(s->rest + n, "/");
	memmove(s->rest, s->rest + n, strlen(s->rest + n) + 1);
	return 0;
}

/* Opens a directory as an O_PATH descriptor. */
static int walk(struct way *w, const char *path, int *out)
{
	_cleanup_(cleanup_steps) struct steps *s = calloc(1, sizeof(*s));
	char name[NAME_MAX + 1];
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->w = w;
	if (strlen(path) >= sizeof(s->rest))
		return -ENAMETOOLONG;
	memcpy(s->rest, path, strlen(path) + 1);
	while (r == 0 && s->rest[0]) {
		if (s->rest[0] == '/') /* an absolute link, or an absolute path */
			r = step_out(s, AT_FDCWD, "/");
		if (r == 0)
			r = next_name(s, name);
		if (r == 0 && name[0] && strcmp(name, ".") != 0)
			r = step(s, name);
	}
	if (r < 0)
		return r;
	*out = openat(current_dir(s), ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *out < 0 ? -errno : 0;
}

/* ---- the directory of a hop --------------------------------------------------------- */

/* Opens a path that has no links. Each link is left to walk(), which checks it. */
static int ask_kernel(const struct beneath *b, const char *path, int *out)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, b->base, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	*out = (int)fd;
	return 0;
}

/* Whether walk() must resolve the path, because openat2() is not available, or met a link or a path out of
 * the base. */
static bool needs_walk(const struct way *w, int r)
{
	return r == -ENOSYS || r == -EPERM || r == -EAGAIN || r == -ELOOP || (r == -EXDEV && w->may_leave);
}

static int open_dir(struct way *w, const char *path, int *out)
{
	int dir, r = -ENOSYS;

	w->left = false;
	/* Only walk() finds out whether a directory on the way is `closed`. */
	if (!w->b->by_hand && !w->b->for_all && w->authors == AUTHORS_NONE)
		r = ask_kernel(w->b, *path ? path : ".", &dir);
	if (needs_walk(w, r))
		r = walk(w, path, &dir);
	if (r < 0)
		return r;
	r = mounts_refuse_symfs(dir);
	if (r < 0)
		close(dir);
	else
		*out = dir;
	return r;
}

/* ---- files -------------------------------------------------------------------------- */

/* Opens the file of an O_PATH descriptor for reading. Without /proc, opens the file by name, and checks
 * that the name still leads to that file. */
static int open_again(int dir, const char *name, int fd, const struct stat *st, int *out)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	_cleanup_close_ int again = -1;
	struct stat now;
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	again = open(self, flags);
	if (again < 0 && errno == ENOENT) {
		again = openat(dir, name, flags | O_NOFOLLOW);
		if (again >= 0 && (fstat(again, &now) < 0 || now.st_dev != st->st_dev || now.st_ino != st->st_ino))
			return -ENOENT;
	}
	if (again < 0)
		return -errno;
	*out = take_fd(&again);
	return 0;
}

int beneath_open_name(int dir, const char *name, int *out)
{
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return S_ISREG(st.st_mode) ? open_again(dir, name, fd, &st, out) : -ENOENT;
}

/* A link may lead to a file in the directory only if the owner of the link could read the file as well. */
static bool may_open(const struct way *w, const struct stat *st)
{
	if (w->b->for_all)
		return st->st_mode & S_IROTH && !w->closed;
	if (w->b->links == BENEATH_ALL || w->left || w->authors == AUTHORS_NONE)
		return true;
	return (w->authors == AUTHORS_ONE && w->author == st->st_uid) || (st->st_mode & S_IROTH && !w->closed);
}

/* Opens the last name of a hop. 1: it is a link, and its target is in `target`. */
static int open_last(struct way *w, int dir, const char *name, char target[static PATH_MAX], int *out)
{
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		r = judge_link(w, &st);
		if (r == 0)
			r = read_link(fd, target);
		return r < 0 ? r : 1;
	}
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	if (w->left && w->b->links == BENEATH_OWNERS && st.st_uid != w->owner)
		return -EXDEV;
	return may_open(w, &st) ? open_again(dir, name, fd, &st, out) : -EPERM;
}

/* Replaces the link at the end of `path` by its target. */
static int next_hop(char path[static REST_MAX], size_t dir_n, const char *target)
{
	if (*target == '/')
		dir_n = 0;
	if (dir_n + strlen(target) >= REST_MAX)
		return -ENAMETOOLONG;
	memcpy(path + dir_n, target, strlen(target) + 1);
	return 0;
}

static int open_hop(struct way *w, char path[static REST_MAX], int *out)
{
	_cleanup_close_ int dir = -1;
	_cleanup_free_ char *parent = NULL;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char target[PATH_MAX];
	int r;

	parent = strndup(path, (size_t)(name - path));
	if (!parent)
		return -ENOMEM;
	r = open_dir(w, parent, &dir);
	if (r == 0)
		r = open_last(w, dir, *name ? name : ".", target, out);
	if (r != 1)
		return r;
	r = next_hop(path, (size_t)(name - path), target);
	return r < 0 ? r : 1;
}

int beneath_open(const struct beneath *b, const char *asked, int *out)
{
	struct way w = {.b = b, .may_leave = b->links >= BENEATH_OWNERS};
	_cleanup_free_ char *path = malloc(REST_MAX);
	struct stat st;
	int r = 1;

	if (!path)
		return -ENOMEM;
	if (strlen(asked) >= REST_MAX)
		return -ENAMETOOLONG;
	if (fstat(b->base, &st) < 0)
		return -errno;
	w.owner = st.st_uid;
	memcpy(path, asked, strlen(asked) + 1);
	for (unsigned links = 0; r == 1 && links <= LINKS_MOST; links++)
		r = open_hop(&w, path, out);
	return r == 1 ? -ENOENT : r; /* the links form a circle */
}

int beneath_open_dir(const struct beneath *b, const char *path, int *out)
{
	struct way w = {.b = b};

	return open_dir(&w, path, out);
}

/* Mount points: what is mounted there, how fusermount3 mounts and unmounts, and how to remove a mount. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/mounts.h"
#include "base/path.h"
#include "base/process.h"
#include "base/util.h"
#include "fs/helper-private.h"
#include "fs/helper.h"
#include "fs/private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FS_TYPE "fuse.symfs"

/* ---- spelling ----------------------------------------------------------------------- */

int fs_point(const char *path, char **out)
{
	_cleanup_free_ char *whole = path_absolute(path), *way = NULL;
	struct buf b = BUF_UP_TO(PATH_MAX);
	char *slash, c;

	if (!whole)
		return -ENOMEM;
	/* Resolves a link to a directory. The daemon of a mount at that place can be dead or stopped.
	 * lstat() would make the kernel ask that daemon; readlink() does not. */
	if (readlink(whole, &c, 1) >= 0) {
		*out = realpath(whole, NULL);
		return *out ? 0 : -errno;
	}
	slash = strrchr(whole, '/');
	*slash = '\0';
	way = realpath(*whole ? whole : "/", NULL);
	if (!way)
		return -errno;
	if (buf_addf(&b, "%s/%s", strcmp(way, "/") == 0 ? "" : way, slash + 1) < 0) {
		buf_release(&b);
		return -ENAMETOOLONG;
	}
	*out = buf_take(&b, NULL);
	return *out ? 0 : -ENOMEM;
}

/* ---- the mount table ---------------------------------------------------------------- */

struct seek {
	const char *point;
	int id; /* of the mount */
	bool symfs;
};

/* The last row of a point is the uppermost mount. */
static int seek_point(void *ctx, const struct mount_row *m)
{
	struct seek *s = ctx;

	if (strcmp(m->point, s->point) == 0) {
		s->id = m->id;
		s->symfs = strcmp(m->type, FS_TYPE) == 0;
	}
	return 0;
}

int fs_mount_id(const char *point)
{
	struct seek s = {.point = point, .id = -1};

	mounts_each(seek_point, &s);
	return s.symfs ? s.id : -1;
}

enum point_state { POINT_OTHER, POINT_ALIVE, POINT_DEAD };

/* Whether the place has a symfs mount that answers, one whose daemon is gone, or anything else. Waits as long as the
 * mount takes to answer. */
static enum point_state point_state(const char *point)
{
	struct statx sx;

	if (fs_mount_id(point) < 0)
		return POINT_OTHER;
	/* Bypass the caches of the kernel, which outlive the daemon. */
	if (statx(AT_FDCWD, point, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &sx) < 0 &&
		(errno == ENOTCONN || errno == ECONNABORTED))
		return POINT_DEAD;
	return POINT_ALIVE;
}

/* ---- fusermount3, a setuid program: libfuse would fork for it, beside running threads ---- */

#define SOCKET 3 /* the program's number of the socket to which it sends the descriptor */
#define UNMOUNT_MS 30000

/* Starts the program with the socket `comm`; -1: without one. */
static int start(char *const *argv, int comm, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	char name[] = "_FUSE_COMMFD=3", **with; /* SOCKET */
	size_t n = 0;
	int r = 0;

	while (environ[n])
		n++;
	with = calloc(n + 2, sizeof(*with));
	if (!with)
		return -ENOMEM;
	with[0] = name;
	memcpy(with + 1, environ, n * sizeof(*with));
	posix_spawn_file_actions_init(&actions);
	if (comm >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, comm, SOCKET);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, comm >= 0 ? SOCKET + 1 : SOCKET);
	if (r == 0)
		r = posix_spawnp(pid, argv[0], &actions, NULL, argv, comm >= 0 ? with : environ);
	posix_spawn_file_actions_destroy(&actions);
	free(with);
	return -r;
}

/* Receives the descriptor. -ETIMEDOUT; -EPERM: the program ended, and has printed why. */
static int receive(int from, unsigned ms)
{
	const struct timeval most = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	char c;
	int fd;
	long n;

	setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	n = helper_receive(from, &c, 1, &fd);
	return fd >= 0 ? fd : n == -EAGAIN ? -ETIMEDOUT : -EPERM;
}

int fusermount_mount(const char *point, const char *options, unsigned ms, int *comm)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-o", (char *)options, (char *)"--", (char *)point, NULL};
	_cleanup_close_ int here = -1, there = -1;
	int ends[2], fd, status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	here = ends[0];
	there = ends[1];
	fd = start(argv, there, &pid);
	if (fd < 0)
		return fd;
	close(take_fd(&there));
	fd = receive(here, ms);
	if (fd >= 0 && comm)
		*comm = take_fd(&here);
	else
		process_wait(pid, fd == -ETIMEDOUT ? 0 : ms, &status);
	return fd;
}

/* 0; -EBUSY; other -errno: the program did not start, or did not end. */
static int fusermount_unmount(const char *point, bool lazy, struct err *e)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-u", lazy ? (char *)"-z" : (char *)"-q",
		(char *)"--", (char *)point, NULL};
	int status = 0, r;
	pid_t pid;

	r = start(argv, -1, &pid);
	if (r < 0)
		return err_set(e, r, "fusermount3: %s; install fuse3, or unmount as root", err_text(r));
	r = process_wait(pid, UNMOUNT_MS, &status);
	if (r < 0)
		return err_set(e, r, "fusermount3 did not unmount %s: %s", point, err_text(r));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, -EBUSY, "%s is in use, or it is not yours to unmount", point);
}

/* ---- unmounting --------------------------------------------------------------------- */

int fs_detach(const char *point, bool lazy, struct err *e)
{
	if (geteuid() != 0)
		return fusermount_unmount(point, lazy, e); /* which reports its error as text only */
	if (umount2(point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	return err_set(e, -errno, "%s: %s", point,
		errno == EBUSY	  ? "is in use"
		: errno == EINVAL ? "nothing is mounted there"
				  : err_text(errno));
}

/* ---- before a mount ----------------------------------------------------------------- */

static bool is_empty(const char *point)
{
	DIR *d = opendir(point);
	struct dirent *entry;
	bool empty = true;

	while (d && empty && (entry = readdir(d)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (d)
		closedir(d);
	return empty;
}

static int check_directory(const char *point, bool nonempty, struct err *e)
{
	struct stat st;

	if (stat(point, &st) < 0)
		return err_set(e, -errno, "%s: %s%s", point, err_text(errno),
			errno == ENOENT ? "; make it with mkdir -p" : "");
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s is not a directory", point);
	if (!nonempty && !is_empty(point))
		return err_set(e, -ENOTEMPTY,
			"%s is not empty, and a mount would hide what is in it; "
			"-o nonempty mounts all the same",
			point);
	return 0;
}

static int detach_dead(const char *point, struct helper *helper, struct err *e)
{
	int r;

	log_warn("%s: the daemon of this mount is gone; replacing it", point);
	if (!helper)
		return fs_detach(point, true, e);
	r = helper_ask(helper, HELPER_CLEAR, 0, -1);
	return r < 0 ? err_set(e, r, "%s: %s", point, err_text(r)) : 0;
}

int point_prepare(const char *point, struct helper *helper, bool nonempty, struct err *e)
{
	enum point_state state = point_state(point);
	int r;

	if (state == POINT_ALIVE)
		return err_set(e, -EBUSY,
			"%s is a symfs mount already; unmount it first: symfs umount %s", point,
			point);
	r = state == POINT_DEAD ? detach_dead(point, helper, e) : 0;
	if (r < 0)
		return r;
	return check_directory(point, nonempty, e);
}

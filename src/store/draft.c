/* Drafts: private files that a process fills, and then publishes or discards. The writer holds a lock on its
 * draft. So a draft without a lock was left behind by a dead process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/view.h"
#include "store/evict.h"
#include "store/files/dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define PARTIAL_NAME 32	     /* "draft-", 16 hex digits and NUL */
#define LOOK_EVERY (4 << 20) /* bytes written between two checks of the free space */

struct draft {
	struct store *s;
	int fd;
	const char *folder; /* "partial" or "sparse" */
	char name[PARTIAL_NAME]; /* the name of the file in that folder */
	bool placed; /* the file was renamed to its place among the blobs */
	bool lent; /* a full sparse file: it stays when the draft is discarded */
	uint64_t end;	 /* the offset after the last byte written */
	uint64_t looked; /* bytes written since the free space was checked */
	uint64_t evicted; /* `end` + 1 at the last eviction; 0: none yet. The same bytes cause only one
			     eviction */
	bool at_once;	 /* the writing thread must not wait: writes do not evict */
};

static void rel_name(const struct draft *d, char out[static 64])
{
	snprintf(out, 64, "%s/%s", d->folder, d->name);
}

int draft_new_at_once(struct draft **out, struct store *s, struct err *e)
{
	struct draft *d;
	int r;

	if (!room_has(s, 1))
		return room_refuse(s, e);
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	d->at_once = true;
	d->s = s;
	d->folder = "partial";
	r = dir_new_file(s->dirfd, d->folder, DRAFT_HEAD, draft_lock, d->name, sizeof(d->name), &d->fd);
	r = r == -EAGAIN ? -ENOTDIR : r; /* `partial` exists, but leads to no directory */
	if (r < 0) {
		bool broken = r == -ENOENT || r == -ENOTDIR || r == -EACCES; /* the store's directory, or in it */

		free(d);
		return err_set(e, broken ? -EIO : r, "%s/partial: %s", s->dir, err_text(r));
	}
	*out = d;
	return 0;
}

/* Opens or makes the store's directory again, if it was removed or replaced. (waits) */
static int session_recover(struct store *s)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses)) /* a write session begins with the recovery */
		ses.r = 0;
	return ses.r;
}

int draft_new(struct draft **out, struct store *s, struct err *e)
{
	int r;

	if (!room_has(s, 1))
		evict_make_room(s, 1);
	if (dir_is_elsewhere(s->dirfd, s->dir))
		session_recover(s);
	r = draft_new_at_once(out, s, e);
	if (r == 0)
		(*out)->at_once = false;
	return r;
}

/* Evicts to make room, unless the draft must not wait. True: the write is worth trying again. */
static bool make_room(struct draft *d, size_t n)
{
	if (d->at_once || d->evicted == d->end + 1)
		return false;
	d->evicted = d->end + 1;
	evict_make_room(d->s, n);
	return true;
}

static int look_at_space(struct draft *d, size_t n)
{
	d->looked += n;
	if (d->looked < LOOK_EVERY && n < LOOK_EVERY)
		return 0;
	d->looked = 0;
	if (room_has(d->s, n) || (make_room(d, n) && room_has(d->s, n)))
		return 0;
	d->looked = LOOK_EVERY; /* check again at the next write */
	return -ENOSPC;
}

int draft_write(struct draft *d, uint64_t off, const void *p, size_t n)
{
	size_t done = 0;
	int r;

	if (off > INT64_MAX || n > INT64_MAX - off)
		return -EFBIG;
	r = look_at_space(d, n);
	if (r < 0)
		return r;
	while (done < n) {
		ssize_t w = pwrite(d->fd, (const char *)p + done, n - done, (off_t)(off + done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && (errno == ENOSPC || errno == EDQUOT)) {
			if (!make_room(d, n - done))
				return -ENOSPC;
			continue;
		}
		if (w < 0)
			return -errno;
		done += (size_t)w;
	}
	d->end = MAX(d->end, off + n);
	return 0;
}

int draft_copy(struct draft *d, int from, uint64_t off, uint64_t n)
{
	const size_t room = 1 << 20;
	_cleanup_free_ char *chunk = NULL;
	struct stat st;
	int r = 0;

	/* A copy of a whole file can share its blocks, if the file system can do that. */
	if (off == 0 && d->end == 0 && fstat(from, &st) == 0 && (uint64_t)st.st_size == n &&
		ioctl(d->fd, FICLONE, from) == 0) {
		d->end = n;
		return 0;
	}
	chunk = malloc(room);
	if (!chunk)
		return -ENOMEM;
	for (uint64_t done = 0; done < n && r == 0; done += room) {
		size_t some = (size_t)MIN(n - done, room);

		r = pread_all(from, off + done, chunk, some);
		if (r == 0)
			r = draft_write(d, d->end, chunk, some);
	}
	return r;
}

int draft_fd(const struct draft *d)
{
	return d->fd;
}

uint64_t draft_size(const struct draft *d)
{
	return d->end;
}

void draft_discard(struct draft *d)
{
	char rel[64];

	if (!d)
		return;
	if (d->lent && !d->placed)
		fchmod(d->fd, 0600);
	else if (d->name[0] && !d->placed) {
		rel_name(d, rel);
		unlinkat(d->s->dirfd, rel, 0);
	}
	close(d->fd);
	free(d);
}

int draft_of_sparse(struct draft **out, struct store *s, int fd, const char *name)
{
	struct draft *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->s = s;
	d->folder = "sparse";
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->lent = true;
	d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (d->fd < 0) {
		free(d);
		return -errno;
	}
	*out = d;
	return 0;
}

int draft_seal(struct draft *d, char sha256[static SHA256_TEXT], uint64_t *size)
{
	struct stat st;
	int r;

	if (fchmod(d->fd, 0400) < 0 || fsync(d->fd) < 0 || fstat(d->fd, &st) < 0)
		return -errno;
	r = sha256_of_fd(d->fd, (uint64_t)st.st_size, sha256);
	if (r == 0)
		*size = (uint64_t)st.st_size;
	return r;
}

/* Whether the draft's file is no longer in the store's directory, because the directory was removed or replaced. */
static bool is_lost(const struct draft *d)
{
	char rel[64];
	struct stat here, there;

	rel_name(d, rel);
	return !d->placed && fstat(d->fd, &here) == 0 &&
	       (fstatat(d->s->dirfd, rel, &there, AT_SYMLINK_NOFOLLOW) < 0 ? errno == ENOENT :
		       here.st_dev != there.st_dev || here.st_ino != there.st_ino);
}

int draft_copy_anew(struct draft *d)
{
	struct draft *n;
	struct stat st;
	int r;

	if (d->lent || !is_lost(d))
		return -ENOENT;
	r = fstat(d->fd, &st) < 0 ? -errno : draft_new(&n, d->s, NULL);
	if (r < 0)
		return r;
	r = draft_copy(n, d->fd, 0, (uint64_t)st.st_size);
	if (r < 0) {
		draft_discard(n);
		return r;
	}
	close(d->fd);
	d->fd = n->fd;
	memcpy(d->name, n->name, sizeof(d->name));
	free(n);
	return 0;
}

int draft_place(struct draft *d, const char *sha256)
{
	_cleanup_close_ int fan = -1;
	char from[64], to[DIR_REL];
	int r;

	if (d->placed)
		return 0;
	r = dir_fan_out(d->s->dirfd, sha256, &fan);
	if (r < 0)
		return r;
	rel_name(d, from);
	if (renameat(d->s->dirfd, from, d->s->dirfd, dir_blob(sha256, to)) < 0)
		return -errno;
	d->placed = true;
	return fsync(fan) < 0 ? -errno : 0;
}

void draft_take_back(struct draft *d, const char *sha256)
{
	char from[DIR_REL], to[64];

	if (!d->placed)
		return;
	rel_name(d, to);
	d->placed = renameat(d->s->dirfd, dir_blob(sha256, from), d->s->dirfd, to) < 0;
}

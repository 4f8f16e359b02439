/* Opens directories, files and archive members of directory sources, and refuses those that symfs may not show. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "pack/unarchive/unarchive.h"
#include "source/ptr.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_MOST 100000 /* entries of a directory that are compared with a name in another case */

/* Refuses files in a symfs mount. Users point DEBUGINFOD_URLS and _NT_SYMBOL_PATH at the mount itself, and a
 * request would then wait for itself. The walk to this point opened only directories, which symfs answers without
 * a request. The caller writes one line to the log. */
static int local_refuse(int fd)
{
	return mounts_refuse_symfs(fd);
}

int local_open_base(const struct source *s, int *fd)
{
	_cleanup_close_ int base = open(s->o.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (base < 0)
		return -errno;
	r = local_refuse(base);
	if (r == 0)
		*fd = take_fd(&base);
	return r;
}

bool local_two_tier(int base)
{
	struct stat st;

	return fstatat(base, "index2.txt", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

enum beneath_links local_links(const struct source *s, enum filetype t)
{
	if (obj_is_anonymous(t))
		return BENEATH_INSIDE;
	return s->o.follow_links ? BENEATH_ALL : BENEATH_OWNERS;
}

/* With fs.protected_hardlinks=0 users can make hard links to other users' files. Such a link must not make a
 * file readable through symfs. */
static int judge_hard_links(int fd, char why[static 200])
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_nlink < 2 || st.st_mode & S_IROTH)
		return 0;
	snprintf(why, 200, "it has another hard link, and not everyone may read it");
	return -EACCES;
}

int local_open_below(const struct source *s, int base, enum filetype t, const char *path, int *out,
	char why[static 200])
{
	const struct beneath b = {.base = base, .links = local_links(s, t)};
	_cleanup_close_ int fd = -1;
	int r = beneath_open(&b, path, &fd);

	if (r == -EXDEV) {
		snprintf(why, 200, "a link leads out of the directory%s",
			b.links == BENEATH_OWNERS ? "; follow-links = yes allows that" : "");
		return -EACCES;
	}
	if (r == -EPERM) {
		snprintf(why, 200, "a link of another user leads to a file that not everyone may read%s",
			b.links == BENEATH_OWNERS ? "; follow-links = yes allows that" : "");
		return -EACCES;
	}
	if (r == 0 && obj_is_anonymous(t))
		r = judge_hard_links(fd, why);
	if (r == 0)
		*out = take_fd(&fd);
	return r;
}

/* ---- where a file.ptr leads ---------------------------------------------------------- */

/* Finds a name in any letter case. Windows wrote the name into file.ptr; a case-sensitive disk may have the name in
 * another case. */
static int find_name(int dir, const char *name, char out[static NAME_MAX + 1])
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	int r = -ENOENT;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -ENOENT;
	}
	for (unsigned seen = 0; r < 0 && seen < NAMES_MOST && (e = readdir(d)); seen++)
		if (strcasecmp(e->d_name, name) == 0) {
			snprintf(out, NAME_MAX + 1, "%s", e->d_name);
			r = 0;
		}
	closedir(d);
	return r;
}

/* Opens an entry of a directory, by the name as the disk has it, and appends this name to `real`. Refuses a link. */
static int step(int dir, const char *name, bool last, int *out, struct buf *real)
{
	char other[NAME_MAX + 1];
	int r = 0;

	for (unsigned tries = 0; tries < 2; tries++) {
		if (last) {
			r = beneath_open_name(dir, name, out);
		} else {
			*out = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			r = *out < 0 ? -errno : local_refuse(*out);
			if (*out >= 0 && r < 0)
				close(*out);
			if (r < 0)
				*out = -1;
		}
		if (r != -ENOENT || tries || find_name(dir, name, other) < 0)
			break;
		name = other;
	}
	if (r == 0)
		r = buf_addf(real, "%s%s", real->n ? "/" : "", name);
	if (r < 0 && *out >= 0) {
		close(*out);
		*out = -1;
	}
	return r == -ENOTDIR ? -ENOENT : r;
}

int local_open_inside(const char *root, const char *rest, int *out, struct buf *real)
{
	_cleanup_close_ int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = dir < 0 ? -errno : local_refuse(dir);

	while (r == 0) {
		size_t n = strcspn(rest, "/");
		_cleanup_free_ char *name = strndup(rest, n);
		int next = -1;

		r = name ? step(dir, name, rest[n] == '\0', &next, real) : -ENOMEM;
		if (r == 0 && rest[n] == '\0') {
			*out = next;
			return 0;
		}
		if (r == 0) {
			close(dir);
			dir = next;
			rest += n + 1;
		}
	}
	return r == -ELOOP ? -EACCES : r;
}

/* ---- opening a found file again ----------------------------------------------------- */

/* Returns the part of `path` below the directory; NULL: `path` is not below it. */
static const char *path_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static int open_of_ptr(const struct source *s, const char *path, int *out)
{
	_cleanup_buf_ struct buf real = BUF_UP_TO(8192);
	int r = -ENOENT;

	for (char **map = s->o.ptr_map; r == -ENOENT && map && *map; map++) {
		const char *rest = path_below(ptr_dir(*map), path);

		if (rest)
			r = local_open_inside(ptr_dir(*map), rest, out, &real);
	}
	return r;
}

int fetch_in_place(struct fetch *f, const char *source, const char *path, enum filetype t, int *fd)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	char why[200];
	int r = -ENOENT;

	for (unsigned i = 0; r == -ENOENT && i < so->n; i++) {
		const struct source *s = so->list[i];
		const char *rest = s->o.path ? path_below(s->o.path, path) : NULL;
		_cleanup_close_ int base = -1;

		if (strcmp(s->name, source) != 0)
			continue;
		if (rest && local_open_base(s, &base) == 0)
			r = local_open_below(s, base, t, rest, fd, why);
		else
			r = open_of_ptr(s, path, fd);
	}
	return r;
}

/* ---- members of archives of scanned trees ------------------------------------------- */

#define AT_ONCE 4     /* archives that are unpacked at once: each worker may have 512 MiB of memory */
#define LOOK_MS 200   /* between two checks for the end of the process */

/* Waits until fewer than AT_ONCE archives are being unpacked. 0; -EINTR: the process ends. */
static int turn_take(struct fetch *f)
{
	LOCK_SCOPE(&f->members_lock);

	while (f->members_busy >= AT_ONCE && !f->closing) {
		struct timespec until = clock_after(CLOCK_REALTIME, LOOK_MS);

		pthread_cond_timedwait(&f->members_free, &f->members_lock, &until);
	}
	if (f->closing)
		return -EINTR;
	f->members_busy++;
	return 0;
}

static void turn_give(struct fetch *f)
{
	LOCK_SCOPE(&f->members_lock);

	f->members_busy--;
	pthread_cond_signal(&f->members_free);
}

/* Writes the present member into a draft. */
static int write_member(struct unarchive *u, uint64_t most, struct draft *d, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int r = unarchive_head(u, &p, &n, e);

	while (r == 0 && n) {
		if (most && draft_size(d) + n > most)
			return err_set(e, -EFBIG, "has more than %llu bytes", (unsigned long long)most);
		r = draft_write(d, draft_size(d), p, n);
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
		r = unarchive_read(u, &p, &n, e);
	}
	return r;
}

static bool is_wanted(const struct unarchive_member *m, const struct scan_found *at, uint64_t number)
{
	return at->member == SCAN_BY_NAME ? !m->raw && m->name[0] && scan_name_number(m->name) == number
					  : m->nth >= at->member;
}

/* Goes to the member. -ESTALE: the archive has no such member any more. */
static int go_to(struct unarchive *u, const struct scan_found *at, struct unarchive_member *m, struct err *e)
{
	uint64_t number = scan_name_number(at->name);
	int r;

	do
		r = unarchive_next(u, m, e);
	while (r == 0 && !is_wanted(m, at, number));
	return r == -ENOENT || (r == 0 && at->member != SCAN_BY_NAME && m->nth != at->member)
		? err_set(e, -ESTALE, "the archive has changed") : r;
}

static int unpack_member(struct fetch *f, int fd, const struct scan_found *at, uint64_t most, struct draft *d,
	int64_t *time, struct err *e)
{
	struct unarchive_opts o = {.unsandboxed = f->opts.allow_unsandboxed,
		.stop = &f->closing,
		.limits = {unarchive_bytes_most(at->size), UNARCHIVE_MEMBERS_MOST}};
	struct unarchive_member *m = calloc(1, sizeof(*m));
	struct unarchive *u = NULL;
	int r = m ? unarchive_open(&u, &o, fd, e) : -ENOMEM;

	if (r == 0)
		r = go_to(u, at, m, e);
	if (r == 0)
		r = write_member(u, most, d, e);
	if (r == 0)
		*time = m->time;
	unarchive_close(u);
	free(m);
	return r;
}

int member_open(struct fetch *f, int fd, const struct scan_found *at, uint64_t most, struct draft **out,
	int64_t *time, struct err *e)
{
	struct draft *d = NULL;
	int r = turn_take(f);

	if (r < 0)
		return r;
	r = draft_new(&d, f->store, e);
	if (r == 0)
		r = unpack_member(f, fd, at, most, d, time, e);
	turn_give(f);
	if (r < 0)
		draft_discard(d);
	else
		*out = d;
	return r;
}

bool member_is_there(int fd, const struct scan_found *at)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == at->ino && (uint64_t)st.st_size == at->size &&
		(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == at->mtime;
}

/* Directory sources: finds files in local directories, and opens them there, to serve them in place. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mounts.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/folded.h"
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
int local_refuse(int fd)
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

/* A file of a type without identity could be any file of this machine, so it must lie in the source's directory. */
static enum beneath_links links_of(const struct source *s, enum filetype t)
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

/* Opens a file below the source's directory. -EACCES: symfs may not open it by this path, and `why` has the reason. */
static int open_below(const struct source *s, int base, enum filetype t, const char *path, int *out,
	char why[static 200])
{
	const struct beneath b = {.base = base, .links = links_of(s, t)};
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

static int check_file(const struct source *s, int fd, const struct key *k, bool *verified,
	struct obj_slice *slice, char why[static 200])
{
	struct err e = {0};
	struct stat st;
	struct view v;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	v = view_of_fd(fd, (uint64_t)st.st_size);
	r = obj_check(&v, k, slice, &e);
	if (r == -EBADMSG && s->layout->flags & LAYOUT_ONE_NAME && obj_is_other_use(&v, k, NULL))
		return -ENOENT; /* files of other types have the same path */
	if (r < 0) {
		snprintf(why, 200, "%.190s", e.text[0] ? e.text : err_text(r));
		return r == -EIO || r == -ENOMEM ? r : -EBADMSG;
	}
	*verified = r == 1;
	return 0;
}

/* One search in one directory. */
struct look {
	struct fetch *f;
	const struct source *s;
	const struct key *k;
	void (*found)(void *ctx); /* NULL: nothing goes into the store */
	void *ctx;
	int base;
	int slot;
	bool exists;   /* a member of an archive is not unpacked */
	bool guessing; /* the search tries code ids that it found in the directory */
	struct blob **out;
	char *why;
};

/* Reports that the file exists, before a step that takes long. Leaves the directory, so that the thread is not taken
 * for a hung one. */
static void say_found(struct look *l)
{
	dir_leave(l->f, l->slot);
	l->slot = -1;
	l->found(l->ctx);
}

/* A slice of a fat file cannot be served in place: it is copied into the store, with shared blocks where the
 * file system can share them. */
static int take_slice(
	struct look *l, int fd, const struct obj_slice *slice, const struct blob_facts *facts)
{
	struct err e = {0};
	int r;

	if (!l->found)
		return 0;
	say_found(l);
	r = learn_publish_part(l->f, fd, slice, l->k, facts, l->out, &e);
	if (r == -ESTALE) /* another file, which is as good, was stored meanwhile */
		r = store_find(l->f->store, l->k, l->out);
	if (r < 0)
		snprintf(l->why, 200, "%.190s", e.text[0] ? e.text : err_text(r));
	return r;
}

static bool is_part(int fd, const struct obj_slice *slice)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (slice->off || slice->size != (uint64_t)st.st_size);
}

/* *out: the packing of the file. 1: its first bytes show the right type inside. 0: they show no type. -EBADMSG: they
 * show another type. -ENOENT: the file is not packed. */
static int packing_of_file(int fd, enum filetype t, const struct packing **out)
{
	uint8_t head[HEAD_MOST], inside[OBJ_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	size_t have;

	*out = n > 0 ? packed_as(t, head, (size_t)n) : NULL;
	if (!*out)
		return -ENOENT;
	have = packed_inside(*out, head, (size_t)n, (size_t)n < sizeof(head), inside);
	if (have && !obj_may_be(t, inside, have))
		return -EBADMSG;
	return have > 0;
}

/* Unpacks a packed file into the store, because it cannot be served in place. */
static int take_packed(
	struct look *l, const struct packing *p, bool sure, int fd, struct blob_facts *facts)
{
	struct draft *d = NULL;
	struct err e = {0};
	struct stat st;
	int r;

	if (!l->found)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (sure)
		say_found(l);
	r = packed_open(l->f, p, fd, (uint64_t)st.st_size, fetch_most(l->f, l->s), &d, &e);
	if (r == 0)
		r = packed_publish(l->f, p, d, l->k, facts, l->out, &e);
	if (r == -ESTALE)
		r = store_find(l->f->store, l->k, l->out);
	if (r < 0)
		snprintf(l->why, 200, "%.190s", e.text[0] ? e.text : err_text(r));
	return r;
}

/* Takes the descriptor. */
static int try_file(struct look *l, int file, const char *dir, const char *path)
{
	_cleanup_close_ int fd = file;
	_cleanup_buf_ struct buf full = BUF_UP_TO(8192);
	struct blob_facts facts = {.fetched = clock_wall()};
	const struct packing *p;
	struct obj_slice slice;
	int r;

	buf_addf(&full, "%s/%s", dir, path);
	snprintf(facts.source, sizeof(facts.source), "%s", l->s->name);
	snprintf(facts.url, sizeof(facts.url), "%s", buf_text(&full));
	r = packing_of_file(fd, l->k->type, &p);
	if (r == -EBADMSG)
		snprintf(l->why, 200, "%s: is another kind of file", packing_name(p));
	if (p)
		return r < 0 ? r : take_packed(l, p, r == 1, fd, &facts);
	r = check_file(l->s, fd, l->k, &facts.verified, &slice, l->why);
	if (r < 0)
		return r;
	facts.worth = facts.verified ? slice.worth : (struct worth){.known = false};
	/* A file to which a server's file.ptr led is copied to the store, like every other file of a server. */
	if (facts.verified && (!l->s->kind->local || is_part(fd, &slice)))
		return take_slice(l, fd, &slice, &facts);
	return blob_of_file(l->out, take_fd(&fd), buf_text(&full), &facts);
}

static int try_path(struct look *l, const char *path)
{
	int fd, r = open_below(l->s, l->base, l->k->type, path, &fd, l->why);

	return r < 0 ? r : try_file(l, fd, l->s->o.path, path);
}

/* ---- file.ptr ----------------------------------------------------------------------- */

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

/* Opens a file below a directory, without leaving the directory. -EACCES: the file is a link, or lies behind a link. */
static int open_inside(const char *root, const char *rest, int *out, struct buf *real)
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

/* Opens the file that a file.ptr names. */
static int follow(struct look *l, const char *text, size_t n)
{
	_cleanup_buf_ struct buf rest = BUF_UP_TO(2048), real = BUF_UP_TO(8192);
	_cleanup_free_ char *root = NULL;
	char says[1024];
	int fd = -1, r;

	switch (ptr_parse(text, n, says)) {
	case PTR_MESSAGE:
		snprintf(l->why, 200, "file.ptr says: %.170s", says);
		return -ENOENT;
	case PTR_NONSENSE:
		snprintf(l->why, 200, "file.ptr holds no path");
		return -EBADMSG;
	case PTR_PATH:
		break;
	}
	r = ptr_resolve(l->s, says, &root, &rest);
	if (r == 0)
		r = open_inside(root, buf_text(&rest), &fd, &real);
	else if (r == -ENOENT || r == -EINVAL)
		r = -EACCES; /* the file exists, but symfs may not open it */
	if (r == 0)
		r = try_file(l, fd, root, buf_text(&real));
	else
		snprintf(l->why, 200, "file.ptr leads to %.120s: %s", says,
			r == -EACCES ? "not allowed by ptr-map" : err_text(r));
	return r;
}

/* Follows the file.ptr at this path. -ENOENT: no such file. The file.ptr must lie in the directory, because it has no
 * identity, and symfs shows parts of it to users. */
static int try_ptr(struct look *l, const char *path)
{
	_cleanup_close_ int fd = -1;
	char text[PTR_MOST];
	ssize_t n;
	int r = open_below(l->s, l->base, FILETYPE_SOURCE, path, &fd, l->why);

	if (r < 0)
		return r;
	n = pread(fd, text, sizeof(text), 0);
	return n < 0 ? -errno : follow(l, text, (size_t)n);
}

int local_follow(struct fetch *f, const struct source *s, const struct key *k, const char *text, size_t n,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200])
{
	struct look l = {.f = f, .s = s, .k = k, .found = found, .ctx = ctx, .base = -1, .out = out, .why = why};
	int r;

	why[0] = '\0';
	l.slot = dir_enter(f, s, why);
	if (l.slot < 0)
		return -ETIMEDOUT;
	r = follow(&l, text, n);
	dir_leave(f, l.slot);
	return r;
}

/* ---- scanned trees ------------------------------------------------------------------ */

/* Unpacks a member of an archive into the store, unless the store has an equally good file. */
static int take_member(struct look *l, int fd, const struct scan_found *at)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(8192);
	struct blob_facts facts = {.fetched = clock_wall()};
	struct draft *d = NULL;
	struct err e = {0};
	int r;

	if (!member_is_there(fd, at)) {
		snprintf(l->why, 200, "changed since it was read");
		return -ENOENT;
	}
	if (l->exists || (!store_wants(l->f->store, l->k, &at->worth) && store_find(l->f->store, l->k, l->out) == 0))
		return 0;
	say_found(l);
	buf_addf(&url, "%s/%s!%s", l->s->o.path, at->path, at->name);
	snprintf(facts.source, sizeof(facts.source), "%s", l->s->name);
	snprintf(facts.url, sizeof(facts.url), "%s", buf_text(&url));
	r = member_open(l->f, fd, at, fetch_most(l->f, l->s), &d, &e);
	if (r == 0)
		r = learn_publish(l->f, d, l->k, &facts, l->out, &e);
	if (r == -ESTALE)
		r = store_find(l->f->store, l->k, l->out);
	if (r < 0)
		snprintf(l->why, 200, "%.190s", e.text[0] ? e.text : err_text(r));
	return r;
}

/* Tries a file or a member of an archive, where the scan found the key. */
static int try_found(struct look *l, const struct scan_found *at)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (at->member)
		r = open_below(l->s, l->base, l->k->type, at->path, &fd, l->why);
	else
		r = try_path(l, at->path);
	if (r == 0 && at->member)
		r = take_member(l, fd, at);
	if (r == 0)
		snprintf(l->why, 200, "%.120s%s%.70s", at->path, at->member ? "!" : "", at->name);
	return r;
}

/* Tries the files of a scanned tree that have the key. A file that changed since the walk does not count, because the
 * scan will read it again. */
static int find_in_tree(struct look *l)
{
	_cleanup_free_ struct scan_found *at = malloc(sizeof(*at));
	int worst = -ENOENT;

	if (!at)
		return -ENOMEM;
	for (unsigned nth = 0;; nth++) {
		int r = trees_find(l->f, l->s, l->k, nth, at);

		if (r < 0) {
			l->why[0] = '\0';
			if (r == -EAGAIN)
				snprintf(l->why, 200, "is still being walked");
			return r == -ENOENT ? worst : r;
		}
		r = try_found(l, at);
		if (r == 0)
			return 0;
		log_debug(LOG_FETCH, "%s/%s%s%s: %s", l->s->shown, at->path, at->name[0] ? "!" : "", at->name,
			l->why[0] ? l->why : err_text(r));
		if (r == -EIO || r == -ENOMEM || r == -EACCES)
			worst = r;
	}
}

bool local_take_better(struct blob **best, struct blob **other, enum filetype t)
{
	if (!*best || (*other && worth_compare(&blob_facts(*other)->worth, &blob_facts(*best)->worth, t) > 0)) {
		blob_unref(*best);
		*best = take(*other);
	}
	blob_unref(*other);
	*other = NULL;
	/* *best is NULL if the request asks only whether the file exists. */
	return !*best || worth_suffices(&blob_facts(*best)->worth, t);
}

bool local_may_improve(const struct sources *so, const struct artifact *a, const struct blob *b)
{
	if (worth_suffices(&blob_facts(b)->worth, a->type))
		return false;
	for (unsigned i = 0; i < so->n; i++)
		if (so->list[i]->kind->local && source_allows(so->list[i], a))
			return true;
	return false;
}

/* Tries one path of the layout below the source's directory. -ENOENT: there is no such file. */
static int try_planned(struct look *l, const char *path, bool ptr)
{
	int r = ptr ? try_ptr(l, path) : try_path(l, path);

	if (r == -ENAMETOOLONG || r == -ENOTDIR || (r == -EBADMSG && l->guessing))
		r = -ENOENT; /* no file on this disk can have the name, or another kind of file has it */
	if (r < 0 && r != -ENOENT && r != -ELOOP)
		log_warn("%s: %s/%s: %s", l->s->name, l->s->shown, path, l->why[0] ? l->why : err_text(r));
	return r;
}

static int find_planned(struct look *l, const struct source_facts *facts, const struct artifact *a)
{
	int worst = -ENOENT;

	for (unsigned nth = 0;; nth++) {
		struct source_ask ask;
		int r = source_plan(l->s, facts, a, nth, &ask);

		if (r < 0)
			return r == -ENOENT ? worst : r;
		r = try_planned(l, ask.where, ask.ptr);
		source_ask_release(&ask);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			worst = r;
	}
}

/* ---- in any letter case ------------------------------------------------------------- */

struct any_case {
	struct look *l;
	bool ptr;
	int worst;
};

static int try_any_case(void *ctx, const char *path)
{
	struct any_case *c = ctx;
	int r = try_planned(c->l, path, c->ptr);

	if (r < 0 && r != -ENOENT)
		c->worst = r;
	return r < 0 ? -ENOENT : r;
}

/* Whether a path in lower case is among those in `said`. Otherwise adds it. */
static bool was_said(struct buf *said, const char *path)
{
	char folded[LAYOUT_PATH_MAX];
	size_t n = 0;

	for (; path[n] && n + 1 < sizeof(folded); n++)
		folded[n] = path[n] >= 'A' && path[n] <= 'Z' ? (char)(path[n] | 0x20) : path[n];
	folded[n] = '\0';
	for (size_t at = 0; at < said->n; at += strlen(said->p + at) + 1)
		if (strcmp(said->p + at, folded) == 0)
			return true;
	return buf_add(said, folded, n + 1) < 0;
}

/* Sections and source paths differ in case alone. */
static bool has_own_case(enum filetype t)
{
	return t == FILETYPE_SECTION || t == FILETYPE_SOURCE;
}

/* Tries the layout's paths in any letter case that the directories have. */
static int find_any_case(struct look *l, const struct source_facts *facts, const struct artifact *a)
{
	const struct beneath b = {.base = l->base, .links = links_of(l->s, l->k->type)};
	_cleanup_buf_ struct buf said = BUF_UP_TO(64 * LAYOUT_PATH_MAX);
	struct any_case c = {.l = l, .worst = -ENOENT};

	if (has_own_case(a->type))
		return -ENOENT;
	for (unsigned nth = 0;; nth++) {
		struct source_ask ask;
		int r = source_plan(l->s, facts, a, nth, &ask);

		if (r < 0)
			return r == -ENOENT ? c.worst : r;
		c.ptr = ask.ptr;
		r = was_said(&said, ask.where) ? -ENOENT
			: folded_paths(l->f, l->slot, &b, ask.where, try_any_case, &c);
		source_ask_release(&ask);
		if (r != -ENOENT)
			return r;
	}
}

static int find_named(struct look *l, const struct source_facts *facts, const struct artifact *a)
{
	int r = find_planned(l, facts, a);

	return r == -ENOENT ? find_any_case(l, facts, a) : r;
}

/* ---- by a code id that the directory has -------------------------------------------- */

struct guessing {
	struct look *l;
	const struct source_facts *facts;
};

static int find_guessed(void *ctx, const struct artifact *a)
{
	struct guessing *g = ctx;

	return find_named(g->l, g->facts, a);
}

static int find_by_layout(struct look *l, const struct artifact *a)
{
	const struct source_facts facts = {.two_tier = local_two_tier(l->base)};
	struct guessing g = {l, &facts};
	int r = find_named(l, &facts, a);

	if (r != -ENOENT)
		return r;
	l->guessing = true;
	r = local_each_id(l->f, l->slot, l->s, &facts, l->base, a, find_guessed, &g);
	if (r == -ENOENT)
		l->why[0] = '\0';
	return r;
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
			r = open_inside(ptr_dir(*map), rest, out, &real);
	}
	return r;
}

int fetch_in_place(struct fetch *f, const char *source, const char *path, enum filetype t, int *fd)
{
	struct sources *so = fetch_sources(f);
	char why[200];
	int r = -ENOENT;

	for (unsigned i = 0; r == -ENOENT && i < so->n; i++) {
		const struct source *s = so->list[i];
		const char *rest = s->o.path ? path_below(s->o.path, path) : NULL;
		_cleanup_close_ int base = -1;

		if (strcmp(s->name, source) != 0)
			continue;
		if (rest && local_open_base(s, &base) == 0)
			r = open_below(s, base, t, rest, fd, why);
		else
			r = open_of_ptr(s, path, fd);
	}
	sources_unref(so);
	return r;
}

/* ---- searching one directory -------------------------------------------------------- */

static int look_into(struct look *l, const struct artifact *a)
{
	_cleanup_close_ int base = -1;
	int r = local_open_base(l->s, &base);

	if (r < 0) {
		/* A directory that does not exist yet is empty. */
		snprintf(l->why, 200, "%s", r == -ELOOP ? "inside a symfs mount" : err_text(r));
		return r == -ENOTDIR ? -ENOENT : r;
	}
	l->base = base;
	if (source_scans(l->s))
		return source_allows(l->s, a) ? find_in_tree(l) : -ENOENT;
	return find_by_layout(l, a);
}

int local_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k, bool exists,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200])
{
	struct look l = {.f = f, .s = s, .k = k, .exists = exists, .found = found, .ctx = ctx, .out = out, .why = why};
	int r;

	why[0] = '\0';
	l.slot = dir_enter(f, s, why);
	if (l.slot < 0)
		return l.slot;
	r = look_into(&l, a);
	dir_leave(f, l.slot);
	return r;
}

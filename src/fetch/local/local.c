/* Directory sources: finds files in local directories, and opens them there, to serve them in place. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/local/folded.h"
#include "source/ptr.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
	struct stat st;
	int r;

	buf_addf(&full, "%s/%s", dir, path);
	snprintf(facts.source, sizeof(facts.source), "%s", l->s->name);
	snprintf(facts.url, sizeof(facts.url), "%s", buf_text(&full));
	facts.modified = fstat(fd, &st) == 0 ? st.st_mtime : 0;
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
	int fd, r = local_open_below(l->s, l->base, l->k->type, path, &fd, l->why);

	return r < 0 ? r : try_file(l, fd, l->s->o.path, path);
}

/* ---- file.ptr ----------------------------------------------------------------------- */

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
		r = local_open_inside(root, buf_text(&rest), &fd, &real);
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
	int r = local_open_below(l->s, l->base, FILETYPE_SOURCE, path, &fd, l->why);

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
	uint64_t most = fetch_most(l->f, l->s);
	struct draft *d = NULL;
	struct err e = {0};
	int r;

	if (!member_is_there(fd, at)) {
		snprintf(l->why, 200, "changed since it was read");
		return -ENOENT;
	}
	if (l->exists ||
	    (!store_wants(l->f->store, l->k, &at->worth, NULL) && store_find(l->f->store, l->k, l->out) == 0))
		return 0;
	say_found(l);
	buf_addf(&url, "%s/%s!%s", l->s->o.path, at->path, at->name);
	snprintf(facts.source, sizeof(facts.source), "%s", l->s->name);
	snprintf(facts.url, sizeof(facts.url), "%s", buf_text(&url));
	if (at->member == SCAN_BY_NAME)
		most = most ? MIN(most, TREE_SOURCE_MOST) : TREE_SOURCE_MOST;
	r = member_open(l->f, fd, at, most, &d, &facts.modified, &e);
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
	char said[100];
	int r;

	if (at->member)
		r = local_open_below(l->s, l->base, l->k->type, at->path, &fd, l->why);
	else
		r = try_path(l, at->path);
	if (r == 0 && at->member)
		r = take_member(l, fd, at);
	snprintf(said, sizeof(said), "%s", r == 0 ? "" : l->why[0] ? l->why : err_text(r));
	snprintf(l->why, 200, "%.*s%s%.*s%s%s", r < 0 ? 68 : 120, at->path, at->member ? "!" : "", r < 0 ? 28 : 70,
		at->name, r == 0 ? "" : l->why[0] ? " " : ": ", said);
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
			else if (l->exists && !l->found && nth == 0 && l->k->name[0] &&
				trees_find(l->f, l->s, l->k, SCAN_NAMED, at) == 0)
				return try_found(l, at); /* says why this file does not count */
			return r == -ENOENT ? worst : r;
		}
		r = try_found(l, at);
		if (r == 0)
			return 0;
		log_debug(LOG_FETCH, "%s/%s", l->s->shown, l->why);
		if (r == -EIO || r == -ENOMEM || r == -EACCES)
			worst = r;
	}
}

/* ---- source files of scanned trees ---------------------------------------------------- */

/* Finds a source that the debug file of its build names: below the roots, or in an archive. */
static int find_source(struct look *l)
{
	_cleanup_buf_ struct buf full = BUF_UP_TO(8192);
	struct blob_facts facts = {.fetched = clock_wall()};
	int fd, r = tree_open_source(l->s, l->k->name, &fd, &full, l->why);

	if (r < 0)
		return r == -ENOENT && !l->why[0] ? find_in_tree(l) : r;
	snprintf(l->why, 200, "%.190s", buf_text(&full));
	snprintf(facts.source, sizeof(facts.source), "%s", l->s->name);
	snprintf(facts.url, sizeof(facts.url), "%s", buf_text(&full));
	return blob_of_file(l->out, fd, buf_text(&full), &facts);
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
	const struct beneath b = {.base = l->base, .links = local_links(l->s, l->k->type)};
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

/* ---- searching one directory -------------------------------------------------------- */

static bool is_tree_source(const struct look *l)
{
	return source_scans(l->s) && l->k->type == FILETYPE_SOURCE;
}

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
		return !source_allows(l->s, a) ? -ENOENT : is_tree_source(l) ? find_source(l) : find_in_tree(l);
	return find_by_layout(l, a);
}

static void say_nothing(void *ctx)
{
	(void)ctx;
}

static int find_debug(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	struct blob **out)
{
	char why[200];

	return local_find(f, s, a, k, false, say_nothing, NULL, out, why);
}

int local_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k, bool exists,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200])
{
	struct look l = {.f = f, .s = s, .k = k, .exists = exists, .found = found, .ctx = ctx, .out = out,
		.why = why};
	int r;

	why[0] = '\0';
	if (is_tree_source(&l)) {
		r = source_allows(s, a) ? tree_names_source(f, s, k, find_debug) : -ENOENT;
		if (r < 0)
			return r;
	}
	l.slot = dir_enter(f, s, why);
	if (l.slot < 0)
		return l.slot;
	r = look_into(&l, a);
	dir_leave(f, l.slot);
	return r;
}

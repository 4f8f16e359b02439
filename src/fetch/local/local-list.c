/* Lists the files of directory sources. For one directory of the mount, only those directories of a source are read
 * whose paths its files can have. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/mounts.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/local/folded.h"
#include "names/layout/listing-plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define WALK_DEPTH 6
#define WALK_MOST 200000
#define PLACES_MOST (256u << 10) /* bytes of the paths of directories to read */

struct walk {
	struct fetch *f;
	const struct listing_plan *plan;
	int (*each)(void *ctx, const struct key *k);
	void *ctx;
	/* the source */
	const struct source *s;
	struct source_facts facts;
	int base;
	struct buf places; /* directories that hold all files that are listed, each with its NUL */
	struct buf found;  /* those that exist, in the letter case of the disk */
	unsigned seen;
	struct layout_hit hit;
	char path[4096];
};

static int walk_key(void *ctx, const struct key *k)
{
	const struct walk *w = ctx;

	return listing_has(w->plan, k) ? w->each(w->ctx, k) : 0;
}

/* ---- which directories to read ------------------------------------------------------- */

/* Whether the directory is in another of the directories, or is the same as an earlier one. */
static bool is_inside(const struct buf *places, const char *path)
{
	for (const char *p = places->p; p < places->p + places->n; p += strlen(p) + 1) {
		size_t n = strlen(p);

		if (p == path || strncasecmp(path, p, n) != 0)
			continue;
		if (path[n] ? !n || path[n] == '/' : p < path)
			return true;
	}
	return false;
}

static int add_place(struct walk *w, const char *path, size_t n)
{
	size_t at = w->places.n;
	int r;

	buf_add(&w->places, path, n);
	r = buf_add(&w->places, "", 1);
	if (r == 0 && is_inside(&w->places, w->places.p + at))
		w->places.n = at;
	return r;
}

/* Adds the directories in which two example files of one class can both be. */
static int add_common(struct walk *w, const struct artifact two[2])
{
	_cleanup_buf_ struct buf one = BUF_UP_TO(PLACES_MOST), other = BUF_UP_TO(PLACES_MOST);
	int r = source_paths(w->s, &w->facts, &two[0], &one);

	if (r == 0)
		r = source_paths(w->s, &w->facts, &two[1], &other);
	for (size_t a = 0, b = 0; r == 0 && a < one.n;) {
		const char *p = one.p + a, *q = b < other.n ? other.p + b : "";
		size_t same = 0, n = 0;

		for (; p[same] && p[same] == q[same]; same++)
			if (p[same] == '/')
				n = same;
		if (!p[same] && strrchr(p, '/'))
			n = (size_t)(strrchr(p, '/') - p);
		r = add_place(w, p, n);
		a += strlen(p) + 1;
		b += *q ? strlen(q) + 1 : 0;
	}
	return r;
}

/* Adds the directories of the files of one class: two example files have the known name and digits in common, and
 * differ in all else, so what their paths have in common is the path of a directory. */
static int add_class(struct walk *w, const struct listing_range *g, unsigned class, bool named)
{
	static const char fill[2] = {'2', 'd'};
	struct artifact two[2];

	for (unsigned i = 0; i < 2; i++) {
		char name[MODULE_NAME_MAX + 4] = "";
		struct key k, example;
		size_t n = strlen(g->prefix);

		if (named && g->name[0])
			snprintf(name, sizeof(name), "%s", g->name);
		else if (named)
			snprintf(name, sizeof(name), "%s%s%c1", class / KEY_FORMS == FILETYPE_SOURCE ? "/" : "",
				g->tiered ? g->tier : "", "nm"[i]);
		if (strlen(name) >= MODULE_NAME_MAX || key_sample(class, name, &example) < 0)
			return 0;
		memset(example.id, fill[i], strlen(example.id) - (example.id[strlen(example.id) - 1] == '0'));
		k = example;
		if (n >= sizeof(k.id) || (n > strlen(k.id) && !g->whole))
			return add_place(w, "", 0);
		memcpy(k.id, g->prefix, n);
		if (g->whole && class % KEY_FORMS < KEY_SIG) {
			k.id[n] = '\0';
			if (key_class(&k) != class)
				return 0; /* the known id is not of this class */
		}
		key_artifact(key_class(&k) == class ? &k : &example, &two[i]);
	}
	return add_common(w, two);
}

static int add_places(struct walk *w)
{
	int r = 0;

	for (unsigned i = 0; i < w->plan->n; i++)
		for (unsigned class = 0; r == 0 && class < KEY_CLASSES; class++) {
			const struct listing_range *g = &w->plan->parts[i].range;

			if (!g->classes[class] || !(w->s->types >> class / KEY_FORMS & 1))
				continue;
			r = add_class(w, g, class, true);
			if (r == 0)
				r = add_class(w, g, class, false);
		}
	return r;
}

static int add_found(void *ctx, const char *path)
{
	struct walk *w = ctx;
	int r = buf_add(&w->found, path, strlen(path) + 1);

	return r < 0 ? r : -ENOENT;
}

static int find_places(struct walk *w, int slot)
{
	const struct beneath b = {.base = w->base};
	int r = add_places(w);

	if (r == -EFBIG) {
		buf_clear(&w->places);
		r = add_place(w, "", 0);
	}
	for (const char *p = w->places.p; r == 0 && p < w->places.p + w->places.n; p += strlen(p) + 1) {
		if (is_inside(&w->places, p))
			continue;
		r = *p ? folded_paths(w->f, slot, &b, p, add_found, w) : add_found(w, p);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

/* ---- reading them -------------------------------------------------------------------- */

static int walk_file(struct walk *w)
{
	layout_parse(source_layout(w->s, &w->facts), w->path, &w->hit);
	for (unsigned i = 0; w->hit.what == LAYOUT_FILE && i < w->hit.n; i++) {
		struct key k;
		int r = key_of(&k, &w->hit.files[i]);

		if (r == 0)
			r = walk_key(w, &k);
		if (r > 0)
			return r;
	}
	return 0;
}

/* Takes the descriptor. */
static int walk_dir(struct walk *w, int fd, size_t n, unsigned depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!d) {
		close(fd);
		return 0;
	}
	atomic_fetch_add(&w->f->stats.listed_dirs, 1);
	while (r == 0 && w->seen++ < WALK_MOST && (e = readdir(d))) {
		int len, sub;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		len = snprintf(w->path + n, sizeof(w->path) - n, "%s%s", n ? "/" : "", e->d_name);
		if (len < 0 || n + (size_t)len >= sizeof(w->path))
			continue;
		sub = depth < WALK_DEPTH && e->d_type != DT_REG
			? mounts_open_sub(dirfd(d), e->d_name)
			: -1;
		r = sub >= 0 ? walk_dir(w, sub, n + (size_t)len, depth + 1) : walk_file(w);
	}
	closedir(d);
	return r;
}

static int walk_place(struct walk *w, const char *path)
{
	const struct beneath b = {.base = w->base};
	_cleanup_close_ int at = -1;
	unsigned depth = *path != '\0';
	int fd;

	if (beneath_open_dir(&b, path, &at) < 0)
		return 0;
	fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (const char *p = path; *p; p++)
		depth += *p == '/';
	return fd >= 0 ? walk_dir(w, fd, (size_t)snprintf(w->path, sizeof(w->path), "%s", path), depth) : 0;
}

static int walk_source(struct walk *w)
{
	_cleanup_close_ int base = -1;
	char why[200];
	int slot = dir_enter(w->f, w->s, why), r;

	if (slot < 0)
		return 0;
	r = local_open_base(w->s, &base);
	w->base = base;
	w->facts = (struct source_facts){.two_tier = r == 0 && local_two_tier(base)};
	w->seen = 0;
	buf_clear(&w->places);
	buf_clear(&w->found);
	r = r == 0 ? find_places(w, slot) : 0;
	dir_leave(w->f, slot); /* otherwise a long walk would count as hung */
	for (const char *p = w->found.p; r == 0 && p < w->found.p + w->found.n; p += strlen(p) + 1)
		r = walk_place(w, p);
	return r;
}

int fetch_local(struct fetch *f, const struct listing_plan *plan, int (*each)(void *ctx, const struct key *k),
	void *ctx)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	_cleanup_free_ struct walk *w = calloc(1, sizeof(*w));
	int r = w ? 0 : -ENOMEM;

	if (w)
		*w = (struct walk){.f = f, .plan = plan, .each = each, .ctx = ctx,
			.places = BUF_UP_TO(PLACES_MOST), .found = BUF_UP_TO(PLACES_MOST)};
	for (unsigned i = 0; r == 0 && i < so->n; i++) {
		if (!so->list[i]->kind->local)
			continue;
		w->s = so->list[i];
		r = source_scans(w->s) ? trees_each(f, w->s, walk_key, w) : walk_source(w);
	}
	if (w) {
		buf_release(&w->places);
		buf_release(&w->found);
	}
	return r;
}

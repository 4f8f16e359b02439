/* Scans of directory sources without a layout: a scan begins and ends with its source, and is saved in the
 * store. Two sources with one path share a scan, unless one leaves out archives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "source/scan/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LISTED_MOST 200000u

struct tree {
	struct tree *next;
	struct scan *scan;
	unsigned refs; /* one for the list while the tree is wanted, and one for each caller; under the lock */
	bool wanted;   /* valid only while trees_set() runs */
};

static struct tree **tree_at(struct fetch *f, const struct source *s)
{
	struct tree **at = &f->trees;

	while (*at && (strcmp(scan_path((*at)->scan), s->o.path) != 0 ||
			      scan_archives((*at)->scan) != source_archives(s)))
		at = &(*at)->next;
	return at;
}

/* Returns the path of the file in a store in which the scan is saved. NULL: no memory. */
static char *memory_of(const char *store, const struct source *s)
{
	char *file;

	return asprintf(&file, "%s/scans/%016llx%s", store,
		(unsigned long long)hash_mix(s->o.path, strlen(s->o.path)),
		       source_archives(s) ? "" : "-files") < 0
		? NULL
		: file;
}

/* Makes the directory for the saved scans. If that fails, each process reads all files again. */
static void make_memories(const char *store)
{
	_cleanup_free_ char *dir = NULL;

	if (asprintf(&dir, "%s/scans", store) < 0)
		dir = NULL;
	else if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		log_debug(LOG_FETCH, "%s: %s", dir, err_text(errno));
}

int fetch_scan_saved(const char *dir, const struct source *s, char out[static 200])
{
	_cleanup_free_ char *memory = source_scans(s) ? memory_of(dir, s) : NULL;

	return memory ? scan_saved(memory, out) : -ENOENT;
}

/* Under the lock. */
static void tree_begin(struct fetch *f, const struct source *s)
{
	_cleanup_free_ char *memory = memory_of(store_dir(f->store), s);
	struct scan_opts o = {.path = s->o.path, .memory = memory, .archives = source_archives(s),
		.unsandboxed = f->opts.allow_unsandboxed};
	struct tree *t = calloc(1, sizeof(*t));
	struct err e = {0};

	make_memories(store_dir(f->store));
	if (!t || scan_start(&t->scan, &o, &e) < 0) {
		log_error("%s cannot be walked: %s", s->o.path, t ? e.text : "out of memory");
		free(t);
		return;
	}
	t->wanted = true;
	t->refs = 1;
	t->next = f->trees;
	f->trees = t;
}

/* Takes a reference, because a long listing must not hold the lock. NULL: the source has no tree. */
static struct tree *tree_take(struct fetch *f, const struct source *s)
{
	LOCK_SCOPE(&f->trees_lock);
	struct tree *t = *tree_at(f, s);

	if (t)
		t->refs++;
	return t;
}

/* Drops a reference. The last reference ends the walk. */
static void tree_give(struct fetch *f, struct tree *t)
{
	bool last;

	pthread_mutex_lock(&f->trees_lock);
	last = --t->refs == 0;
	pthread_mutex_unlock(&f->trees_lock);
	if (!last)
		return;
	scan_stop(t->scan);
	free(t);
}

/* Removes the trees that no source has any more. */
static struct tree *take_unwanted(struct fetch *f)
{
	struct tree *gone = NULL, **at = &f->trees;

	while (*at) {
		struct tree *t = *at;

		if (t->wanted) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		t->next = gone;
		gone = t;
	}
	return gone;
}

void trees_set(struct fetch *f, const struct sources *so)
{
	struct tree *gone;

	pthread_mutex_lock(&f->trees_lock);
	for (struct tree *t = f->trees; t; t = t->next)
		t->wanted = false;
	for (unsigned i = 0; so && i < so->n; i++) {
		struct tree **at;

		if (!source_scans(so->list[i]))
			continue;
		at = tree_at(f, so->list[i]);
		if (*at)
			(*at)->wanted = true;
		else
			tree_begin(f, so->list[i]);
	}
	gone = take_unwanted(f);
	pthread_mutex_unlock(&f->trees_lock);
	while (gone) {
		struct tree *next = gone->next;

		tree_give(f, gone);
		gone = next;
	}
}

int trees_find(struct fetch *f, const struct source *s, const struct key *k, unsigned nth,
	struct scan_found *out)
{
	struct tree *t = tree_take(f, s);
	int r;

	if (!t)
		return -EHOSTUNREACH;
	r = scan_find(t->scan, k, nth, out);
	tree_give(f, t);
	return r;
}

void trees_state(struct fetch *f, const struct source *s, char out[static 240])
{
	struct tree *t = tree_take(f, s);

	if (!t) {
		snprintf(out, 240, "it cannot be walked");
		return;
	}
	scan_state(t->scan, out);
	tree_give(f, t);
}

int fetch_places(struct fetch *f, scan_each_place *each, void *ctx)
{
	struct sources *so = fetch_sources(f);
	int r = 0, all = 0;

	for (unsigned i = 0; r == 0 && i < so->n; i++) {
		struct tree *t = source_scans(so->list[i]) ? tree_take(f, so->list[i]) : NULL;

		r = t ? scan_places(t->scan, each, ctx) : -EAGAIN;
		if (t)
			tree_give(f, t);
		all = r == -EAGAIN ? r : all;
		r = r == -EAGAIN ? 0 : r;
	}
	sources_unref(so);
	return r ? r : all;
}

struct listing {
	const struct source *s;
	int (*each)(void *ctx, const struct key *k);
	void *ctx;
};

static int list_key(void *ctx, const struct key *k)
{
	struct listing *l = ctx;

	return l->s->types >> k->type & 1 ? l->each(l->ctx, k) : 0;
}

int trees_each(struct fetch *f, const struct source *s, int (*each)(void *ctx, const struct key *k),
	void *ctx)
{
	struct listing l = {.s = s, .each = each, .ctx = ctx};
	struct tree *t = tree_take(f, s);
	int r;

	if (!t)
		return 0;
	r = scan_each(t->scan, LISTED_MOST, list_key, &l);
	tree_give(f, t);
	return r;
}

/* The files of .symfs: counters, sources, downloads, misses and explanations, as text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "base/clock.h"
#include "base/util.h"
#include "fs/private.h"
#include "names/layout/tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHY_ROWS 64

/* ---- counters ----------------------------------------------------------------------- */

static const struct counter_row {
	const char *name, *help;
	size_t offset; /* into struct fs_counters */
} counters[] = {
	{"fs_lookups", "names looked up", offsetof(struct fs_counters, lookups)},
	{"fs_negative", "names that do not exist", offsetof(struct fs_counters, negative)},
	{"fs_opens", "files opened", offsetof(struct fs_counters, opens)},
	{"fs_passthrough", "files opened for passthrough: the kernel reads them by itself",
		offsetof(struct fs_counters, passthrough)},
	{"fs_reads", "reads that came from the kernel", offsetof(struct fs_counters, reads)},
	{"fs_bytes", "bytes given to the kernel", offsetof(struct fs_counters, bytes)},
	{"fs_listings", "directories listed", offsetof(struct fs_counters, listings)},
	{"fs_interrupted", "waiting requests that a signal interrupted",
		offsetof(struct fs_counters, interrupted)},
};

typedef void each_number(struct buf *out, const char *name, const char *help, const char *type, uint64_t value);

static uint64_t counter_at(void *base, size_t offset)
{
	return atomic_load((atomic_uint_fast64_t *)((char *)base + offset));
}

static int numbers(struct fs *fs, struct buf *out, each_number *each)
{
	for (const struct fetch_stat_row *row = fetch_stat_rows; row->name; row++)
		each(out, row->name, row->help, "counter", counter_at(fetch_stats(fs->fetch), row->offset));
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		each(out, counters[i].name, counters[i].help, "counter",
			counter_at(&fs->counters, counters[i].offset));
	each(out, "fs_nodes", "inodes that the kernel holds", "gauge", nodes_count(fs->nodes));
	each(out, "fs_waiting", "requests that wait for a source", "gauge", atomic_load(&fs->waiting));
	return out->r;
}

static void stat_line(struct buf *out, const char *name, const char *help, const char *type, uint64_t value)
{
	buf_addf(out, "%s %" PRIu64 "\n", name, value);
}

static void metric_lines(struct buf *out, const char *name, const char *help, const char *type, uint64_t value)
{
	buf_addf(out, "# HELP symfs_%s %s\n# TYPE symfs_%s %s\nsymfs_%s %" PRIu64 "\n", name,
		help, name, type, name, value);
}

/* ---- the files ---------------------------------------------------------------------- */

static int text_version(struct fs *fs, struct buf *out)
{
	return buf_adds(out, "symfs " PACKAGE_VERSION "\n");
}

static int text_config(struct fs *fs, struct buf *out)
{
	LOCK_SCOPE(&fs->config_lock);

	return buf_adds(out, fs->config_text);
}

static int text_stats(struct fs *fs, struct buf *out)
{
	buf_addf(out, "pid %d\nmounted %" PRId64 "\n", (int)getpid(), fs->mounted);
	return numbers(fs, out, stat_line);
}

static int text_metrics(struct fs *fs, struct buf *out)
{
	return numbers(fs, out, metric_lines);
}

static const struct state_row {
	const char *name;
	int (*text)(struct fs *fs, struct buf *out);
	void (*of_fetch)(struct fetch *f, struct buf *out); /* in place of `text`; both NULL: a directory */
	bool owner_only; /* the text has names that users look for, or local paths */
} rows[] = {
	{"version", text_version, NULL, false},
	{"config", text_config, NULL, true},
	{"sources", NULL, fetch_sources_text, false},
	{"stats", text_stats, NULL, false},
	{"metrics", text_metrics, NULL, false},
	{"activity", NULL, fetch_activity, true},
	{"downloads", NULL, fetch_downloads, true},
	{"missing", NULL, fetch_missing, true},
	{"why", NULL, NULL, false},
};

/* ---- why ---------------------------------------------------------------------------- */

static void why_attempt(struct buf *out, unsigned nth, const struct fetch_attempt *a)
{
	char until[24];

	buf_addf(out, "%u. %s  %s  %s  %s", nth, a->source, a->spelling, a->url, a->verdict);
	if (a->status)
		buf_addf(out, " %d", a->status);
	if (a->remembered_until) {
		clock_print(a->remembered_until, until);
		buf_addf(out, " until %s", until);
	}
	if (a->error[0])
		buf_addf(out, " (%s)", a->error);
	buf_adds(out, "\n");
}

static int why_artifact(struct fs *fs, const struct artifact *a, struct fetch_attempt *attempts,
	struct buf *out)
{
	char room[KEY_TEXT];
	struct fetched f;
	struct key k;
	int n, r;

	if (key_of(&k, a) < 0)
		return 0;
	r = fs_stored(fs, a, 1, &f);
	if (r == 0)
		blob_unref(f.blob);
	buf_addf(out, "key %s\nstored %s\n", key_text(&k, room), r == 0 ? "yes" : "no");
	n = fetch_why(fs->fetch, a, NULL, attempts, WHY_ROWS);
	for (int i = 0; i < n; i++)
		why_attempt(out, (unsigned)i + 1, &attempts[i]);
	if (n == 0)
		buf_addf(out, "%s\n", fetch_unnamed(fs->fetch, a));
	return out->r < 0 ? out->r : MIN(n, 0);
}

static int why_text(struct fs *fs, const char *path, struct buf *out)
{
	_cleanup_free_ struct fetch_attempt *attempts = calloc(WHY_ROWS, sizeof(*attempts));
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));
	int r;

	if (!attempts || !hit)
		return -ENOMEM;
	tree_parse(path, hit);
	r = buf_addf(out, "path %s\n", path);
	for (unsigned i = 0; r == 0 && i < hit->n; i++)
		r = why_artifact(fs, &hit->files[i], attempts, out);
	return r;
}

/* why/ mirrors the whole mount; each file contains the answer of `symfs why`. */
static int why_kind(const char *path, struct tree_hit *hit, enum node_kind *kind)
{
	tree_parse(path, hit);
	if (hit->what == TREE_LEAF || hit->what == TREE_TOLD || (hit->what == TREE_EITHER && hit->file_like))
		*kind = NODE_STATE;
	else if (hit->what == TREE_DIR || hit->what == TREE_EITHER)
		*kind = NODE_DIR;
	else if (hit->what == TREE_LINK)
		*kind = NODE_LINK;
	else
		return -ENOENT;
	return 0;
}

/* ---- for the ops -------------------------------------------------------------------- */

static const struct state_row *row_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static bool is_dir(const struct state_row *row)
{
	return !row->text && !row->of_fetch;
}

int state_kind(struct tree_hit *hit, enum node_kind *kind)
{
	const char *rest = hit->rest;
	const struct state_row *row = row_find(rest);

	if (strncmp(rest, "why/", 4) == 0)
		return why_kind(rest + 4, hit, kind);
	if (*rest && !row)
		return -ENOENT;
	*kind = row && !is_dir(row) ? NODE_STATE : NODE_DIR;
	return 0;
}

const char *state_entry(unsigned nth, enum node_kind *kind)
{
	if (nth >= ARRAY_SIZE(rows))
		return NULL;
	*kind = is_dir(&rows[nth]) ? NODE_DIR : NODE_STATE;
	return rows[nth].name;
}

/* The path below ".symfs/". */
static const char *rest_of(const struct node *n)
{
	const char *path = node_path(n);

	path += strcspn(path, "/");
	return *path ? path + 1 : path;
}

bool state_owner_only(const struct node *n)
{
	const struct state_row *row = row_find(rest_of(n));

	return row && row->owner_only;
}

/* The kernel checks modes only with default_permissions. With `uid=`, the owner of the files is not the
 * user that mounted. */
static bool may_read(const struct fs *fs, const struct node *n, uid_t user)
{
	return !state_owner_only(n) || user == 0 || user == fs->uid || user == fs->mounter;
}

int state_text(struct fs *fs, const struct node *n, uid_t user, struct buf *out)
{
	const char *rest = rest_of(n);
	const struct state_row *row = row_find(rest);

	if (!may_read(fs, n, user))
		return -EACCES;
	if (strncmp(rest, "why/", 4) == 0)
		return why_text(fs, rest + 4, out);
	if (!row || is_dir(row))
		return -ENOENT;
	if (row->text)
		return row->text(fs, out);
	row->of_fetch(fs->fetch, out);
	return 0;
}

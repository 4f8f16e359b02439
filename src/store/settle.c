/* Settling: makes the files of one blob and the index agree. The sweep does that for all files of the store, and
 * rebuilds a damaged index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/settle.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/files/label.h"
#include "store/index/salvage.h"
#include "store/sparse-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct labelling {
	struct buf *out;
	uint64_t size;
};

static int add_line(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct labelling *l = ctx;

	return label_add(l->out, k, facts, l->size);
}

static int settle_label_module(struct index *ix, int64_t object, struct buf *out)
{
	struct module m;
	int r = index_module_of(ix, object, &m);

	return r == 0 ? label_add_module(out, &m) : r == -ENOENT ? 0 : r;
}

static int settle_label_worth(struct index *ix, int64_t object, struct buf *out)
{
	struct worth w;
	int r = index_object_worth(ix, object, &w);

	return r == 0 ? label_add_worth(out, &w) : r == -ENOENT ? 0 : r;
}

int settle_label(struct index *ix, const struct index_object *o, struct buf *out)
{
	struct labelling l = {.out = out, .size = o->size};
	int r;

	r = index_keys_of(ix, o->id, add_line, &l);
	if (r == 0 && out->n)
		r = settle_label_module(ix, o->id, out);
	if (r == 0 && out->n)
		r = settle_label_worth(ix, o->id, out);
	if (r == 0 && out->n && o->pinned)
		r = label_add_pin(out);
	return r == 0 && out->n && o->pinned ? hold_write(out, &o->held.hold) : r;
}

/* A blob that is added back to the index from its label. */
struct adopting {
	struct index *ix;
	const char *sha256;
	uint64_t size;
	struct worth worth;
	int64_t object; /* the number of the object; 0 until the first good line */
};

static bool is_rather(const struct adopting *a, const struct label_line *l, const struct index_hit *other)
{
	int better = a->worth.known && other->facts.worth.known
		? worth_compare(&a->worth, &other->facts.worth, l->key.type) : 0;

	return better ? better > 0 : other->facts.fetched < l->facts.fetched;
}

static int adopt_line(void *ctx, const struct label_line *l)
{
	struct adopting *a = ctx;
	struct index_hit other;
	char canon[KEY_TEXT];
	int r;

	if (l->size != a->size)
		return 0;
	r = index_key_find(a->ix, key_canon(&l->key, canon), &other);
	if (r < 0 && r != -ENOENT)
		return r;
	/* If a publisher was killed, the labels of two blobs may have the same key: the better blob keeps
	 * the key. If neither is better, the newer blob keeps it. */
	if (r == 0 && !is_rather(a, l, &other))
		return 0;
	if (r == 0)
		r = index_intent_add(a->ix, other.object.sha256, false);
	else
		r = 0;
	if (r == 0)
		r = index_object_put(a->ix, a->sha256, a->size, l->facts.fetched, &a->worth, &a->object);
	return r == 0 ? index_key_put(a->ix, &l->key, a->object, &l->facts) : r;
}

/* The label does not have the time of the last use: the hold begins anew. */
static int adopt_hold(struct store *s, struct index *ix, int64_t object, const char *text)
{
	struct hold_state held;
	struct store_hold h;

	if (hold_read(text, &h) < 0)
		return index_object_keep(ix, object, INT64_MAX);
	held = hold_begin(&h, store_now(s));
	return index_object_hold(ix, object, &held);
}

static int adopt(struct store *s, struct index *ix, const char *sha256, uint64_t size)
{
	struct adopting a = {.ix = ix, .sha256 = sha256, .size = size};
	_cleanup_free_ char *text = NULL;
	struct module m;
	int r;

	r = label_read(s->dirfd, sha256, &text);
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return r; /* an error of this process, not of the label */
	if (r < 0)
		return -ENOENT;
	label_worth(text, &a.worth);
	r = label_each(text, adopt_line, &a);
	if (r == 0 && a.object && label_module(text, &m) == 0)
		r = index_module_put(ix, a.object, &m);
	if (r == 0 && a.object && label_is_pinned(text))
		r = adopt_hold(s, ix, a.object, text);
	return r == 0 && !a.object ? -ENOENT : r;
}

/* Only logs an error: a file that cannot be removed wastes space, but must not stop later writers. */
static void remove_files(struct store *s, const char *sha256)
{
	int r = dir_blob_remove(s->dirfd, sha256);

	if (r < 0)
		log_warn("%s: a blob cannot be removed: %s", s->dir, err_text(r));
}

static int relabel(struct store *s, struct index *ix, const struct index_object *o)
{
	_cleanup_buf_ struct buf want = BUF_UP_TO(LABEL_MOST);
	_cleanup_free_ char *have = NULL;
	int r;

	r = settle_label(ix, o, &want);
	if (r < 0)
		return r;
	if (want.n == 0) { /* no key has this blob now */
		r = index_object_drop(ix, o->id);
		if (r == 0)
			remove_files(s, o->sha256);
		return r;
	}
	if (label_read(s->dirfd, o->sha256, &have) == 0 && label_same(have, buf_text(&want)))
		return 0;
	return label_write(s->dirfd, o->sha256, &want);
}

/* Copies the first key, and ignores the others. */
static int take_key(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	char *text = ctx;

	if (!text[0])
		key_text(k, text);
	return 0;
}

/* A file that the user added or pinned must not vanish silently. */
static void warn_of_lost(struct store *s, struct index *ix, const struct index_object *o, bool here)
{
	char text[KEY_TEXT] = "";

	if (!o->pinned || index_keys_of(ix, o->id, take_key, text) < 0)
		return;
	log_warn("%s: %s was pinned, and its file %s: add it again", s->dir, text[0] ? text : o->sha256,
		here ? "has another size now" : "is gone");
}

/* Settles one blob. A row without its file is dropped. A file without a row is added to the index from its
 * label; without a good label, or with `gone`, the file is removed. A label that differs from the index is
 * written again. 0, -errno. */
static int settle(struct store *s, struct index *ix, const char *sha256, bool gone)
{
	struct index_object o;
	struct stat st;
	bool here;
	int r;

	if (!dir_sha256_ok(sha256))
		return 0;
	r = dir_blob_stat(s->dirfd, sha256, &st);
	if (r < 0 && r != -ENOENT)
		return r;
	here = r == 0;
	r = index_object_find(ix, sha256, &o);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && here && (uint64_t)st.st_size == o.size)
		return relabel(s, ix, &o);
	if (r == 0) {
		log_debug(LOG_STORE, "%s: %s: forgotten", sha256,
			here ? "size differs" : "file is gone");
		warn_of_lost(s, ix, &o, here);
		r = index_object_drop(ix, o.id);
		if (r < 0)
			return r;
		gone = true;
	}
	r = !gone && here ? adopt(s, ix, sha256, (uint64_t)st.st_size) : -ENOENT;
	if (r == -ENOENT) {
		remove_files(s, sha256);
		return 0;
	}
	r = r == 0 ? index_object_find(ix, sha256, &o) : r;
	return r == 0 ? relabel(s, ix, &o) : r;
}

int settle_all(struct store *s, struct index *ix)
{
	char sha256[SHA256_TEXT];
	bool gone;
	int r;

	while ((r = index_intent_next(ix, sha256, &gone)) == 0) {
		r = index_intent_done(ix, sha256);
		if (r == 0)
			r = settle(s, ix, sha256, gone);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- the sweep ------------------------------------------------------------------------- */

struct sweeping {
	struct store *s;
	struct index *ix;
};

static int sweep_file(void *ctx, enum dir_kind kind, const char *sha256)
{
	struct sweeping *w = ctx;
	struct index_object o;
	struct stat st;
	int r;

	if (kind == DIR_LABEL) {
		r = dir_blob_stat(w->s->dirfd, sha256, &st);
		return r == -ENOENT ? settle(w->s, w->ix, sha256, true) : 0;
	}
	r = index_object_find(w->ix, sha256, &o);
	return r == -ENOENT ? settle(w->s, w->ix, sha256, false) : r;
}

/* Whether an object has its blob, with the right size, and its label. The label is removed before the blob, so after
 * a power loss the index may have a row again whose blob lacks its label. */
static bool is_sound(struct store *s, const struct index_object *o)
{
	char rel[DIR_REL];
	struct stat st;

	return dir_blob_stat(s->dirfd, o->sha256, &st) == 0 && (uint64_t)st.st_size == o->size &&
	       fstatat(s->dirfd, dir_label(o->sha256, rel), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int sweep(struct store *s, struct index *ix)
{
	struct sweeping w = {.s = s, .ix = ix};
	struct index_object o = {.id = 0};
	int r;

	while ((r = index_object_next(ix, o.id, &o)) == 0) {
		bool sound = is_sound(s, &o);

		if (!sound && !dir_sha256_ok(o.sha256))
			r = index_object_drop(ix, o.id);
		else if (!sound)
			r = settle(s, ix, o.sha256, false);
		if (r < 0)
			return r;
	}
	if (r != -ENOENT)
		return r;
	r = sparses_sweep(s, ix);
	if (r == 0)
		r = dir_walk(s->dirfd, sweep_file, &w);
	return r == 0 ? settle_all(s, ix) : r;
}

/* ---- rebuilding the index from the labels of the blobs --------------------------------- */

/* Renames the damaged index. The WAL comes first: it must never lie beside an index to which it does not
 * belong. */
static int set_aside(struct store *s)
{
	static const char *const tails[] = {"-wal", "-shm", ""};
	char from[64], to[64], aside[96];

	for (unsigned i = 0; i < ARRAY_SIZE(tails); i++) {
		snprintf(from, sizeof(from), "index.sqlite%s", tails[i]);
		snprintf(to, sizeof(to), "index.sqlite.damaged%s", tails[i]);
		if (unlinkat(s->dirfd, to, 0) < 0 && errno == EISDIR && unlinkat(s->dirfd, to, AT_REMOVEDIR) < 0) {
			/* a directory with files that are not symfs's */
			snprintf(aside, sizeof(aside), "%s.%llx", to, (unsigned long long)clock_ms());
			renameat(s->dirfd, to, s->dirfd, aside);
		}
		if (renameat(s->dirfd, from, s->dirfd, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

static void salvage(struct store *s, struct index *ix)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/index.sqlite.damaged", s->dir) < 0)
		path = NULL;
	else if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) /* SQLite would wait for the writer of a pipe */
		index_salvage(ix, path);
}

static int rebuild_index(struct store *s, struct index *ix, bool damaged)
{
	struct index_object o = {.id = 0};
	unsigned long artifacts = 0;
	int r;

	r = sweep(s, ix);
	if (r == 0 && damaged)
		salvage(s, ix);
	while (r == 0 && (r = index_object_next(ix, o.id, &o)) == 0)
		artifacts++;
	if (r == -ENOENT)
		r = index_commit(ix);
	if (r < 0)
		return r;
	if (damaged)
		log_warn("%s: the index was damaged, or of another version, and is now index.sqlite.damaged; "
			 "rebuilt the index: %lu artifacts", s->dir, artifacts);
	else if (artifacts)
		log_warn("%s: rebuilt the index: %lu artifacts", s->dir, artifacts);
	return 0;
}

int rebuild_open(struct store *s, bool damaged, struct index **out, struct err *e)
{
	_cleanup_index_ struct index *ix = NULL;
	int r = -EUCLEAN;

	if (!damaged) {
		r = index_open(out, s->dir, e);
		if (r != -ENOENT && r != -EUCLEAN)
			return r;
		damaged = r == -EUCLEAN;
	}
	if (damaged) {
		r = set_aside(s);
		if (r < 0)
			return err_set(e, r, "%s: a damaged index cannot be set aside: %s", s->dir,
				err_text(r));
	}
	r = index_make(&ix, s->dir, s->id, e);
	if (r < 0)
		return r;
	r = rebuild_index(s, ix, damaged);
	if (r < 0) {
		index_rollback(ix);
		return err_set(e, r, "%s: the index cannot be rebuilt: %s", s->dir, err_text(r));
	}
	*out = take(ix);
	return 0;
}

/* LOOKUP: finds the node of a name. It waits for one thing only: whether a file exists (wait.c). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/bundle.h"
#include "fs/private.h"
#include "names/layout/tree.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The answer to a LOOKUP. */
struct entry {
	struct fuse_entry_param param;
	struct node *node; /* a reference; NULL: a negative entry, valid for param.entry_timeout */
};

static void entry_of_node(struct fs *fs, struct node *n, struct entry *out)
{
	struct fuse_entry_param *p = &out->param;

	out->node = n;
	p->ino = node_ino(n);
	p->attr_timeout = fs_attr(fs, n, &p->attr);
	p->entry_timeout = node_kind(n) == NODE_LEAF ? MAX(p->attr_timeout, FS_SOON) : FS_FOREVER;
}

static int entry_negative(struct fs *fs, double seconds, struct entry *out)
{
	atomic_fetch_add(&fs->counters.negative, 1);
	out->param.entry_timeout = seconds;
	return seconds > 0 ? 0 : -ENOENT;
}

/* Ends a LOOKUP with its reply: called by op_lookup(), or by lookup_answer() if the request had to wait. */
static void entry_reply(struct fs *fs, fuse_req_t req, int r, struct entry *e)
{
	if (r == FS_WAITS)
		return;
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e->param) < 0 && e->node)
		node_forget(fs->nodes, e->param.ino, 1); /* the kernel did not get the reply */
	node_unref(fs->nodes, e->node);
}

/* Finds the candidate whose key is `found`. The candidate has everything that the path says about the file,
 * which can be more than the key contains. */
static void asked_for(const struct artifact *cands, unsigned n, const struct key *found,
	struct artifact *out)
{
	struct key k;

	for (unsigned i = 0; i < n; i++) {
		if (key_of(&k, &cands[i]) == 0 && key_equal(&k, found)) {
			*out = cands[i];
			return;
		}
	}
	key_artifact(found, out);
}

static int file_missing(struct fs *fs, const struct fetched *f, struct entry *out)
{
	return f->r != -ENOENT ? f->r : entry_negative(fs, MIN(f->miss_ms, FS_MISS_MS) / 1000.0, out);
}

static int leaf_entry(struct fs *fs, const struct artifact *cands, unsigned n,
	const struct fetched *f, struct entry *out)
{
	struct node_bytes b;
	struct artifact a;
	struct node *node;
	int r;

	if (f->r < 0)
		return file_missing(fs, f, out);
	b = fs_bytes_of(f);
	asked_for(cands, n, &f->key, &a);
	r = node_of_leaf(fs->nodes, &f->key, &a, &b, &node);
	if (r == 0)
		entry_of_node(fs, node, out);
	return r;
}

/* A generated file (a link, a property list, .meta) exists when the file that it describes exists. Its text
 * has a name that may become known at any moment, so the kernel must ask again soon. */
static int told_entry(struct fs *fs, enum tree_told told, const struct artifact *cands, unsigned n,
	const struct fetched *f, struct entry *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(FS_PATH_MAX), text = BUF_UP_TO(FS_PATH_MAX);
	struct artifact a;
	struct node *node;
	int r;

	if (f->r < 0)
		return file_missing(fs, f, out);
	asked_for(cands, n, &f->key, &a);
	r = bundle_write(fs->fetch, told, &a, f, &path, &text);
	if (r == 0)
		r = node_of_path(fs->nodes, told == TOLD_LINK ? NODE_LINK : NODE_TEXT,
			buf_text(&path), buf_text(&text), &node);
	if (r < 0)
		return r;
	entry_of_node(fs, node, out);
	out->param.entry_timeout = FS_SOON;
	return 0;
}

/* ---- files that symfs makes ----------------------------------------------------------- */

/* The node of a derived file `a`. `f` has the file, or says why it cannot be made: then it is missing. */
static int synthesized_entry(struct fs *fs, const struct artifact *a, const struct fetched *f, struct entry *out)
{
	struct node_bytes b;
	struct node *node;
	struct key k;
	int r = f->r == 0 ? derive_key(a, &k) : f->r;

	if (r == -EINTR)
		return r;
	if (r < 0)
		return entry_negative(fs, FS_MISS_MS / 1000.0, out);
	b = fs_bytes_of(f);
	r = node_of_leaf(fs->nodes, &k, a, &b, &node);
	if (r < 0)
		return r;
	entry_of_node(fs, node, out);
	out->param.entry_timeout = MIN(out->param.entry_timeout, FS_SOON);
	return 0;
}

/* Shows the stored GSYM of an input that is not stored and that no source has: `symfs warm --as gsym` keeps GSYM
 * alone. -ENOENT: no GSYM is stored. */
static int kept_gsym(struct fs *fs, const struct artifact *cands, unsigned n, bool object, struct entry *out)
{
	int r = -ENOENT;

	for (unsigned i = 0; r == -ENOENT && i < n; i++) {
		struct fetched f = {0};
		struct artifact a;

		if (derive_artifact(&cands[i], object, &a) == 0 && derive_try(fs->derive, &a, NULL, &f) == 0 &&
		    f.blob)
			r = synthesized_entry(fs, &a, &f, out);
		blob_unref(f.blob);
	}
	return r;
}

/* GSYM exists when its input exists, until a conversion has failed. */
static int made_entry(struct fs *fs, const struct artifact *cands, unsigned n, bool object,
	const struct fetched *f, struct entry *out)
{
	struct node *node;
	int r = f->r == -ENOENT ? kept_gsym(fs, cands, n, object, out) : -ENOENT;

	if (r != -ENOENT)
		return r;
	if (f->r < 0)
		return file_missing(fs, f, out);
	r = gsym_node(fs, tree_gsym_input(cands, n, &f->key), object, f, &node);
	if (r == -ENOENT)
		return entry_negative(fs, FS_MISS_MS / 1000.0, out);
	if (r < 0)
		return r;
	entry_of_node(fs, node, out);
	out->param.entry_timeout = MIN(out->param.entry_timeout, FS_SOON);
	return 0;
}

static void synthesized_answer(struct waiting *w, const struct fetched *f)
{
	struct entry e = {0};

	entry_reply(w->fs, w->req, synthesized_entry(w->fs, w->cands, f, &e), &e);
}

/* Makes a Breakpad file that no source has. -ENOENT: the file is of another type, or it cannot be made. The file is
 * made by its LOOKUP, not its OPEN: readers ask for its size before they open it. */
static int synthesize(struct fs *fs, fuse_req_t req, const struct artifact *cands, unsigned n, struct entry *out)
{
	struct fetched f = {0};
	struct artifact a;
	int r = n ? derive_breakpad(fs->derive, &cands[0], &a) : -ENOENT;

	if (r == 0)
		r = derive_try(fs->derive, &a, NULL, &f);
	if (r == -EAGAIN)
		return wait_making(fs, req, &a, &(struct waiting){.answer = synthesized_answer});
	if (r == 0)
		r = f.r < 0 ? -ENOENT : synthesized_entry(fs, &a, &f, out);
	blob_unref(f.blob);
	return r;
}

/* ---- files that sources may have -------------------------------------------------- */

static int entry_as(struct fs *fs, enum found_as as, const struct artifact *cands, unsigned n,
	const struct fetched *f, struct entry *out)
{
	if (as == AS_LEAF)
		return leaf_entry(fs, cands, n, f, out);
	if (as == AS_GSYM || as == AS_OBJECT)
		return made_entry(fs, cands, n, as == AS_OBJECT, f, out);
	return told_entry(fs, as == AS_LINK ? TOLD_LINK : TOLD_PLIST, cands, n, f, out);
}

/* Some paths are a file, or a directory if that file does not exist. `dir` is the node of the directory,
 * which node_of_path() has counted as known to the kernel; NULL: the path can only be a file. The kernel
 * must ask again soon, because the file may appear. */
static int entry_or_dir(struct fs *fs, const struct artifact *cands, unsigned n, const struct fetched *f,
	enum found_as as, const struct node *dir, struct entry *out)
{
	if (dir && (f->r == -ENOENT || f->r == -EBADMSG)) {
		entry_of_node(fs, node_find(fs->nodes, node_ino(dir)), out);
		out->param.entry_timeout = FS_MISS_MS / 1000.0;
		return 0;
	}
	if (dir)
		node_forget(fs->nodes, node_ino(dir), 1);
	return entry_as(fs, as, cands, n, f, out);
}

static void lookup_answer(struct waiting *w, const struct fetched *f)
{
	struct entry e = {0};
	int r = -ENOENT;

	if (w->as == AS_LEAF && f->r == -ENOENT && !w->node)
		r = synthesize(w->fs, w->req, w->cands, w->n, &e);
	if (r == -ENOENT)
		r = entry_or_dir(w->fs, w->cands, w->n, f, w->as, w->node, &e);
	entry_reply(w->fs, w->req, r, &e);
}

/* Takes over the caller's reference to `dir`, which may be NULL. */
static int lookup_file_or(struct fs *fs, fuse_req_t req, const struct tree_hit *hit, enum found_as as,
	struct node *dir, struct entry *out)
{
	struct fetched f = {0};
	int r;

	r = fetch_try(fs->fetch, hit->files, hit->n, FETCH_EXISTS, &f);
	if (r == -EAGAIN)
		return wait_start(fs, req, hit->files, hit->n, FETCH_EXISTS,
			&(struct waiting){.answer = lookup_answer, .node = dir, .as = as});
	if (r == 0 && f.r == -ENOENT && !dir && as == AS_LEAF) {
		r = synthesize(fs, req, hit->files, hit->n, out);
		if (r != -ENOENT)
			return r;
		r = 0;
	}
	if (r == 0) {
		r = entry_or_dir(fs, hit->files, hit->n, &f, as, dir, out);
		blob_unref(f.blob);
	}
	node_unref(fs->nodes, dir);
	return r;
}

static int lookup_file(struct fs *fs, fuse_req_t req, const struct tree_hit *hit, enum found_as as, struct entry *out)
{
	return lookup_file_or(fs, req, hit, as, NULL, out);
}

static int lookup_leaf(struct fs *fs, fuse_req_t req, const char *path, const struct tree_hit *hit,
	struct entry *out)
{
	struct node *dir = NULL;
	int r = hit->else_dir ? node_of_path(fs->nodes, NODE_DIR, path, NULL, &dir) : 0;

	return r < 0 ? r : lookup_file_or(fs, req, hit, AS_LEAF, dir, out);
}

/* .meta describes the content of a file, so it exists only when that file is stored. Asks no source. */
static int lookup_meta(struct fs *fs, const struct tree_hit *hit, struct entry *out)
{
	struct fetched f;

	for (unsigned i = 0; i < hit->n; i++) {
		int r = fs_stored(fs, &hit->files[i], 1, &f);

		if (r == 0)
			r = told_entry(fs, TOLD_META, &hit->files[i], 1, &f, out);
		else if (r == -EAGAIN || r == -ENOENT)
			continue;
		blob_unref(f.blob);
		return r;
	}
	return entry_negative(fs, FS_MISS_MS / 1000.0, out);
}

static int lookup_told(struct fs *fs, fuse_req_t req, const struct tree_hit *hit, struct entry *out)
{
	switch (hit->told) {
	case TOLD_LINK:
		return lookup_file(fs, req, hit, AS_LINK, out);
	case TOLD_PLIST:
		return lookup_file(fs, req, hit, AS_PLIST, out);
	case TOLD_META:
		return lookup_meta(fs, hit, out);
	}
	return -EIO;
}

static int lookup_path(struct fs *fs, enum node_kind kind, const char *path, const char *text,
	struct entry *out)
{
	struct node *n;
	int r = node_of_path(fs->nodes, kind, path, text, &n);

	if (r == 0)
		entry_of_node(fs, n, out);
	return r;
}

static int lookup(struct fs *fs, fuse_req_t req, const char *path, struct entry *out)
{
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));
	enum node_kind kind;

	if (!hit)
		return -ENOMEM;
	tree_parse(path, hit);
	switch (hit->what) {
	case TREE_NONE:
		return entry_negative(fs, FS_STRUCTURAL, out);
	case TREE_DIR:
		return lookup_path(fs, NODE_DIR, path, NULL, out);
	case TREE_LINK:
		return lookup_path(fs, NODE_LINK, path, hit->text, out);
	case TREE_TEXT:
		return lookup_path(fs, NODE_TEXT, path, hit->text, out);
	case TREE_STATE:
		if (state_kind(hit, &kind) < 0)
			return entry_negative(fs, FS_STRUCTURAL, out);
		return lookup_path(fs, kind, path, kind == NODE_LINK ? hit->text : NULL, out);
	case TREE_EITHER:
		if (!hit->file_like)
			return lookup_path(fs, NODE_DIR, path, NULL, out);
		return lookup_file(fs, req, hit, AS_LEAF, out);
	case TREE_LEAF:
		if (hit->gsym)
			return lookup_file(fs, req, hit, hit->gsym == TREE_GSYM_OBJECT ? AS_OBJECT : AS_GSYM, out);
		return lookup_leaf(fs, req, path, hit, out);
	case TREE_TOLD:
		return lookup_told(fs, req, hit, out);
	}
	return -EIO;
}

/* The path of `name` in the directory. */
static int child_path(struct fs *fs, fuse_ino_t parent, const char *name,
	char path[static FS_PATH_MAX])
{
	struct node *dir = node_find(fs->nodes, parent);
	int n = 0, r = 0;

	if (!dir)
		r = -ESTALE;
	else if (node_kind(dir) != NODE_DIR)
		r = -ENOTDIR;
	else if (strlen(name) > NAME_MAX)
		r = -ENAMETOOLONG;
	else
		n = snprintf(path, FS_PATH_MAX, "%s%s%s", node_path(dir),
			*node_path(dir) ? "/" : "", name);
	if (n >= FS_PATH_MAX)
		r = -ENAMETOOLONG;
	node_unref(fs->nodes, dir);
	return r;
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	FS_OP(fs, req);
	char path[FS_PATH_MAX];
	struct entry e = {0};
	int r;

	atomic_fetch_add(&fs->counters.lookups, 1);
	r = child_path(fs, parent, name, path);
	if (r == 0)
		r = lookup(fs, req, path, &e);
	entry_reply(fs, req, r, &e);
}

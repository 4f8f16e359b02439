/* Leaves of gsym/: they exist when what they are made of does, and are made when they are opened. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

#include <string.h>

int gsym_node(struct fs *fs, const struct artifact *input, struct node **out)
{
	struct node_bytes b = {.size = FS_SIZE_UNKNOWN};
	struct artifact a = {.type = FILETYPE_GSYM, .m = input->m};
	_cleanup_blob_ struct blob *blob = NULL;
	struct key k;
	int r = derive_key(&a.m, &k);

	if (r == 0)
		r = derive_find(fs->derive, &k, &blob);
	if (r == 0)
		b = fs_bytes_of(&(struct fetched){.blob = blob});
	return r < 0 && r != -EAGAIN ? r : node_of_leaf(fs->nodes, &k, &a, &b, out);
}

/* ---- making ---------------------------------------------------------------------------- */

/* The last of a request that had to wait for a conversion. */
static void derived(void *ctx, int r, struct blob *b, const char *why)
{
	struct waiting *w = ctx;
	struct fs *fs = w->fs;
	struct fetched f = {.r = r, .blob = b, .why = why};

	w->answer(w, &f);
	node_unref(fs->nodes, w->node);
	free(w);
	atomic_fetch_sub(&fs->waiting, 1);
}

/* 0: `answer` will reply; it gets a value of its own, for the one that waited for the input ends. */
static int convert(struct fs *fs, fuse_req_t req, struct node *n, struct blob *in,
	wait_answer *answer, const struct fuse_file_info *fi)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct artifact a;
	struct key k;
	int r;

	if (!w)
		return -ENOMEM;
	node_artifact(n, &a);
	w->fs = fs;
	w->req = req;
	w->answer = answer;
	if (fi)
		w->fi = *fi;
	w->node = node_find(fs->nodes, node_ino(n));
	r = w->node ? derive_key(&a.m, &k) : -ESTALE;
	atomic_fetch_add(&fs->waiting, 1);
	if (r == 0)
		r = derive_start(fs->derive, &k, in, derived, w);
	if (r == 0)
		return 0;
	atomic_fetch_sub(&fs->waiting, 1);
	node_unref(fs->nodes, w->node);
	free(w);
	return r;
}

/* The input is here, or is not to be had. */
static void go_on(struct waiting *w, const struct fetched *f, wait_answer *answer)
{
	struct fetched none = {.r = f->r < 0 ? f->r : -EIO, .why = f->why};

	if (f->r == 0 && f->blob)
		none.r = convert(w->fs, w->req, w->node, f->blob, answer, &w->fi);
	if (none.r < 0)
		answer(w, &none);
}

static void open_input(struct waiting *w, const struct fetched *f)
{
	go_on(w, f, fs_open_answer);
}

static void getattr_input(struct waiting *w, const struct fetched *f)
{
	go_on(w, f, fs_getattr_answer);
}

int gsym_make_leaf(struct fs *fs, fuse_req_t req, struct node *n, const struct fuse_file_info *fi,
	bool opens)
{
	wait_answer *answer = opens ? fs_open_answer : fs_getattr_answer;
	struct artifact a, inputs[DERIVE_INPUTS];
	struct fetched f = {0};
	unsigned count;
	int r;

	node_artifact(n, &a);
	count = derive_inputs(&a.m, inputs);
	if (!count)
		return -ENOENT;
	r = fetch_try(fs->fetch, inputs, count, FETCH_WHOLE, &f);
	if (r == -EAGAIN) {
		r = wait_start(fs, req, inputs, count, FETCH_WHOLE,
			opens ? open_input : getattr_input, node_find(fs->nodes, node_ino(n)), fi);
		return r < 0 ? r : FS_WAITS;
	}
	if (r == 0)
		r = f.r < 0 ? f.r : !f.blob ? -EIO : convert(fs, req, n, f.blob, answer, fi);
	blob_unref(f.blob);
	return r < 0 ? r : FS_WAITS;
}

int gsym_stored(struct fs *fs, const struct node *n, struct fetched *f)
{
	struct artifact a;
	int r;

	memset(f, 0, sizeof(*f));
	node_artifact(n, &a);
	r = derive_key(&a.m, &f->key);
	return r < 0 ? r : derive_find(fs->derive, &f->key, &f->blob);
}

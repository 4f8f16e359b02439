/* Leaves of gsym/: they exist when what they are made of does, and are made when they are opened. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

#include <string.h>

/* As derive_try(), with what it says in one word. */
static int made(struct fs *fs, const struct artifact *a, struct fetched *f)
{
	int r = derive_try(fs->derive, a, f);

	return r < 0 ? r : f->r;
}

int gsym_node(struct fs *fs, const struct artifact *input, bool object, struct node **out)
{
	struct node_bytes b = {.size = FS_SIZE_UNKNOWN};
	struct fetched f = {0};
	struct artifact a;
	struct key k;
	int r = derive_artifact(input, object, &a);

	if (r == 0)
		r = derive_key(&a, &k);
	if (r == 0)
		r = made(fs, &a, &f);
	if (r == 0)
		b = fs_bytes_of(&f);
	if (r == 0 || r == -EAGAIN)
		r = node_of_leaf(fs->nodes, &k, &a, &b, out);
	blob_unref(f.blob);
	return r;
}

int gsym_make_leaf(struct fs *fs, fuse_req_t req, struct node *n, const struct fuse_file_info *fi,
	bool opens)
{
	struct artifact a;
	int r;

	node_artifact(n, &a);
	r = wait_making(fs, req, &a, opens ? fs_open_answer : fs_getattr_answer,
		node_find(fs->nodes, node_ino(n)), fi);
	return r < 0 ? r : FS_WAITS;
}

int gsym_stored(struct fs *fs, const struct node *n, struct fetched *f)
{
	struct artifact a;

	node_artifact(n, &a);
	return made(fs, &a, f);
}

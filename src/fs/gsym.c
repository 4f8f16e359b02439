/* Files of gsym/: they exist when their input exists, and are converted when they are opened. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Like derive_try(), but also returns the error that derive_try() stores in `f`. */
static int gsym_try(struct fs *fs, const struct artifact *a, struct blob *in, struct fetched *f)
{
	int r = derive_try(fs->derive, a, in, f);

	return r < 0 ? r : f->r;
}

int gsym_node(struct fs *fs, const struct artifact *input, bool object, const struct fetched *found,
	struct node **out)
{
	struct node_bytes b = {.size = FS_SIZE_UNKNOWN};
	struct fetched f = {0};
	struct artifact a;
	struct key k;
	int r = derive_artifact(input, object, &a);

	if (r == 0)
		r = derive_key(&a, &k);
	if (r == 0)
		r = gsym_try(fs, &a, found->key.type == input->type ? found->blob : NULL, &f);
	if (r == 0)
		b = fs_bytes_of(&f);
	if (r == 0 || r == -EAGAIN)
		r = node_of_leaf(fs->nodes, &k, &a, &b, out);
	blob_unref(f.blob);
	return r;
}

/* ---- listings ----------------------------------------------------------------------- */

static bool is_listed(const struct artifact *a, const struct gsym_listed *file)
{
	struct key k;

	return key_of(&k, a) == 0 && key_number(&k) == file->number;
}

/* The file that a path in gsym/ is converted from, if the path can mean the listed file; else NULL. A path can
 * mean several files, and the listed file need not be the first. Only the keys of Breakpad files are compared:
 * a PE file has two keys, and may be listed with the other one. */
static const struct artifact *input_of(const struct tree_hit *hit, const struct gsym_listed *file)
{
	const struct artifact *first = hit->files;

	if (hit->what != TREE_LEAF || !hit->gsym)
		return NULL;
	for (unsigned i = 0; i < hit->n; i++)
		if (first[i].type == file->type && (file->type != FILETYPE_BREAKPAD || is_listed(&first[i], file)))
			return file->type == FILETYPE_BREAKPAD
				? &first[i] : tree_gsym_input(first, hit->n, &(struct key){.type = file->type});
	return NULL;
}

/* Whether a listed file can be converted to GSYM, as far as symfs knows before the conversion. */
static bool may_make(struct fs *fs, const char *path, const struct gsym_listed *file, uint64_t *ino)
{
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));
	const struct artifact *input;
	struct fetched f = {0};
	struct artifact a;
	struct key k;
	int r;

	if (!hit)
		return false;
	tree_parse(path, hit);
	input = input_of(hit, file);
	if (!input || derive_artifact(input, false, &a) < 0 || derive_key(&a, &k) < 0)
		return false;
	r = gsym_try(fs, &a, NULL, &f);
	blob_unref(f.blob);
	*ino = key_number(&k);
	return r == 0 || (r == -EAGAIN && !derive_failed(fs->derive, &a));
}

static bool is_dir_or_link(const char *path, mode_t *mode)
{
	_cleanup_free_ struct tree_hit *hit = malloc(sizeof(*hit));

	if (!hit)
		return false;
	tree_parse(path, hit);
	*mode = hit->what == TREE_LINK ? S_IFLNK : S_IFDIR;
	return hit->what == TREE_DIR || hit->what == TREE_LINK;
}

bool gsym_mirror(struct fs *fs, const char *dir, const struct gsym_listed *file, char name[static NAME_MAX + 1],
	mode_t *mode, uint64_t *ino)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(FS_PATH_MAX);

	if (buf_addf(&path, "%s/%s%s", dir, name, file ? ".gsym" : "") < 0)
		return false;
	*ino = 0;
	if (!file)
		return is_dir_or_link(buf_text(&path), mode);
	*mode = S_IFREG;
	if (strlen(name) + strlen(".gsym") > NAME_MAX || !may_make(fs, buf_text(&path), file, ino))
		return false;
	memcpy(name + strlen(name), ".gsym", sizeof(".gsym"));
	return true;
}

/* ---- files -------------------------------------------------------------------------- */

int leaf_stored(struct fs *fs, const struct node *n, struct fetched *f)
{
	struct artifact a;

	node_artifact(n, &a);
	if (!(filetypes[a.type].flags & TYPE_MADE))
		return fs_stored(fs, &a, 1, f);
	*f = (struct fetched){.r = 0};
	return gsym_try(fs, &a, NULL, f);
}

int leaf_wait(struct fs *fs, fuse_req_t req, const struct node *n, enum fetch_need need, wait_answer *answer,
	const struct fuse_file_info *fi)
{
	struct waiting like = {.answer = answer, .node = node_find(fs->nodes, node_ino(n))};
	struct artifact a;

	node_artifact(n, &a);
	if (fi)
		like.fi = *fi;
	return filetypes[a.type].flags & TYPE_MADE ? wait_making(fs, req, &a, &like)
					      : wait_start(fs, req, &a, 1, need, &like);
}

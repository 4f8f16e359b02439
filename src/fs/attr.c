/* What every operation does first and last, and the attributes of files and directories. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fs/private.h"

#include <string.h>

/* ---- what every op does first and last ------------------------------------------------ */

struct fs *fs_op_begin(fuse_req_t req)
{
	struct fs *fs = fs_of(req);

	atomic_fetch_add(&fs->busy, 1);
	return fs;
}

void fs_op_end(struct fs **fs)
{
	atomic_store(&(*fs)->finished_ms, clock_ms());
	atomic_fetch_sub(&(*fs)->busy, 1);
}

/* ---- attributes --------------------------------------------------------------------- */

static const struct kind_row {
	mode_t mode;
	nlink_t links;
	double believe; /* seconds for which the kernel may cache the attributes */
} kinds[NODE_KINDS] = {
	[NODE_DIR] = {S_IFDIR | 0555, 2, FS_FOREVER},
	[NODE_LEAF] = {S_IFREG | 0444, 1, 0},
	[NODE_LINK] = {S_IFLNK | 0777, 1, FS_FOREVER},
	[NODE_TEXT] = {S_IFREG | 0444, 1, FS_FOREVER},
	[NODE_STATE] = {S_IFREG | 0444, 1, FS_SOON},
};

/* The kernel must not cache a guessed size, because it ends reads at the size that it has cached. */
static double leaf_attr(struct fs *fs, const struct node *n, struct stat *st)
{
	struct node_bytes b;

	node_bytes(fs->nodes, n, &b);
	st->st_size = (off_t)b.size;
	if (!b.exact)
		return 0;
	st->st_blocks = (blkcnt_t)((b.size + 511) / 512);
	st->st_mtim.tv_sec = st->st_ctim.tv_sec = st->st_atim.tv_sec = b.time;
	return b.settled ? FS_FOREVER : FS_SOON;
}

double fs_attr(struct fs *fs, const struct node *n, struct stat *st)
{
	const struct kind_row *k = &kinds[node_kind(n)];

	memset(st, 0, sizeof(*st));
	st->st_ino = node_ino(n);
	st->st_mode = k->mode;
	st->st_nlink = k->links;
	st->st_uid = fs->uid;
	st->st_gid = fs->gid;
	st->st_blksize = 4096;
	st->st_mtim.tv_sec = st->st_ctim.tv_sec = st->st_atim.tv_sec = fs->mounted;
	if (node_kind(n) == NODE_LEAF)
		return leaf_attr(fs, n, st);
	if (node_kind(n) == NODE_LINK || node_kind(n) == NODE_TEXT)
		st->st_size = (off_t)strlen(node_text(n));
	if (node_kind(n) == NODE_STATE && state_owner_only(n))
		st->st_mode = S_IFREG | 0400;
	return k->believe;
}

struct node_bytes fs_bytes_of(const struct fetched *f)
{
	struct node_bytes b = {.size = f->size};

	if (f->part) {
		b.exact = true;
		b.number = part_number(f->part);
		b.size = part_size(f->part);
		b.time = part_modified(f->part) ? part_modified(f->part) : part_time(f->part);
	} else if (f->blob) {
		b.was = f->was;
		b.exact = true;
		b.settled = *blob_sha256(f->blob) && worth_suffices(&blob_facts(f->blob)->worth, f->key.type);
		b.number = blob_number(f->blob);
		b.size = blob_size(f->blob);
		b.facts = blob_facts(f->blob);
		b.time = blob_time(b.facts);
	} else if (f->size == FETCH_SIZE_UNKNOWN || f->size == 0) {
		b.size = FS_SIZE_UNKNOWN;
	}
	return b;
}

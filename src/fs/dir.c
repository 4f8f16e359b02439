/* Open directories: OPENDIR, READDIR, RELEASEDIR. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

static struct file *dir_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static int open_dir(struct fs *fs, const struct node *n, struct fuse_file_info *fi)
{
	struct file *file;

	if (node_kind(n) != NODE_DIR)
		return -ENOTDIR;
	file = file_new(fs);
	if (!file)
		return -ENOMEM;
	file->listing = listing_new(node_path(n));
	if (!file->listing) {
		file_free(fs, file);
		return -ENOMEM;
	}
	fi->fh = (uintptr_t)file;
	/* The kernel caches only listings of fixed names: it would not notice the files that other processes
	 * add to the store. */
	if (listing_is_fixed(file->listing))
		fi->cache_readdir = fi->keep_cache = 1;
	return 0;
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct node *n = node_find(fs->nodes, ino);
	int r = n ? open_dir(fs, n, fi) : -ESTALE;

	node_unref(fs->nodes, n);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_open(req, fi) < 0)
		file_free(fs, dir_of(fi));
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	_cleanup_free_ char *p = malloc(size);
	ssize_t n = p ? 0 : -ENOMEM;

	atomic_fetch_add(&fs->counters.listings, off == 0);
	if (n == 0 && off >= 0)
		n = listing_fill(fs, req, dir_of(fi)->listing, (uint64_t)off, p, size);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, p, (size_t)n);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);

	file_free(fs, dir_of(fi));
	fuse_reply_err(req, 0);
}

/* The table of FUSE operations, and the short ones: GETATTR, FORGET, READLINK, STATFS, INIT. An operation
 * computes, then replies once in its last line. A request that has to wait for fetch/ becomes a
 * `struct waiting` (wait.c), and its wait_answer replies. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fs/private.h"
#include "store/store.h"

#include <limits.h>
#include <string.h>
#include <sys/statvfs.h>

/* ---- OPENDIR, READDIR, RELEASEDIR ----------------------------------------------------- */

static struct file *dir_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static int open_dir(struct fs *fs, const struct node *n, struct fuse_file_info *fi)
{
	struct file *file;
	bool fixed;

	if (node_kind(n) != NODE_DIR)
		return -ENOTDIR;
	file = file_new(fs);
	if (!file)
		return -ENOMEM;
	file->listing = listing_new(node_path(n), &fixed);
	if (!file->listing) {
		file_free(fs, file);
		return -ENOMEM;
	}
	fi->fh = (uintptr_t)file;
	/* The kernel caches only listings of fixed names: it would not notice the files that other processes
	 * add to the store. */
	if (fixed)
		fi->cache_readdir = fi->keep_cache = 1;
	return 0;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
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

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
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

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);

	file_free(fs, dir_of(fi));
	fuse_reply_err(req, 0);
}

/* ---- what the kernel forgets --------------------------------------------------------- */

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	node_forget(fs_of(req)->nodes, ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		node_forget(fs_of(req)->nodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* ---- GETATTR, READLINK, STATFS -------------------------------------------------------- */

static void attr_reply(struct fs *fs, fuse_req_t req, int r, const struct node *n)
{
	struct stat st;
	double believe;

	if (r == FS_WAITS)
		return;
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	believe = fs_attr(fs, n, &st);
	fuse_reply_attr(req, &st, believe);
}

static int attr_settle(struct fs *fs, struct node *n, const struct fetched *f)
{
	struct node_bytes b = fs_bytes_of(f);

	if (f->r < 0)
		return f->r;
	return f->blob ? node_settle(fs->nodes, n, &b) : 0;
}

static void getattr_answer(struct waiting *w, const struct fetched *f)
{
	int r = attr_settle(w->fs, w->node, f);

	attr_reply(w->fs, w->req, r, w->node);
}

/* Finds the size of a leaf whose size was a guess: the file can be stored by now. With `exact_size`, waits
 * for the file. */
static int getattr_leaf(struct fs *fs, fuse_req_t req, struct node *n)
{
	struct fetched f;
	int r = leaf_stored(fs, n, &f);

	if (r == 0) {
		r = attr_settle(fs, n, &f);
		blob_unref(f.blob);
		return r;
	}
	if (!fs->exact_size || r == -ENOENT)
		return 0;
	return r == -EAGAIN ? leaf_wait(fs, req, n, FETCH_WHOLE, getattr_answer, NULL) : r;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct node *n = node_find(fs->nodes, ino);
	struct node_bytes b = {.exact = true};
	int r = n ? 0 : -ESTALE;

	if (n && node_kind(n) == NODE_LEAF)
		node_bytes(fs->nodes, n, &b);
	if (!b.exact)
		r = getattr_leaf(fs, req, n);
	attr_reply(fs, req, r, n);
	node_unref(fs->nodes, n);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	FS_OP(fs, req);
	struct node *n = node_find(fs->nodes, ino);

	if (n && node_kind(n) == NODE_LINK)
		fuse_reply_readlink(req, node_text(n));
	else
		fuse_reply_err(req, n ? EINVAL : ESTALE);
	node_unref(fs->nodes, n);
}

/* Describes the disk of the store, and never asks a source, or `df` would hang with it. */
static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	FS_OP(fs, req);
	struct statvfs st = {0};

	if (store_statvfs(fetch_store(fs->fetch), &st) < 0)
		st.f_bsize = st.f_frsize = 4096;
	st.f_namemax = NAME_MAX;
	fuse_reply_statfs(req, &st);
}

/* Keeps the kernel's default read-ahead, because more would slow random reads. Splice gains nothing. Without
 * FUSE_CAP_AUTO_INVAL_DATA, an open file keeps its cached pages when its size becomes known. The flag is not
 * needed: symfs gives changed bytes a new inode, so a new size or time never means new bytes. */
static void op_init(void *ctx, struct fuse_conn_info *conn)
{
	struct fs *fs = ctx;

	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
		FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
		FUSE_CAP_SPLICE_MOVE | FUSE_CAP_EXPORT_SUPPORT);
	/* A read of a file that is downloading waits, and must not hold back other reads. */
	conn->max_background = 1024;
	conn->congestion_threshold = 768;
	fs->parallel = conn->capable & FUSE_CAP_PARALLEL_DIROPS; /* handshake.c */
	conn->want |= conn->capable & (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ |
		FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_CACHE_SYMLINKS);
	fs->passes = fs->pass_wanted && handshake_passes(fs, conn);
	if (fs->up)
		fs->up(fs->up_ctx);
}

/* There is no access and no flush: the kernel remembers the ENOSYS, and sends these requests only once. The mount is
 * read-only, so the kernel refuses all that would write. */
const struct fuse_lowlevel_ops fs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

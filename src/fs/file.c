/* Handles, and OPEN, READ and RELEASE of files. OPEN waits until the file was identified. READ waits for its bytes,
 * and fails only when no source can give them: debuggers map files, and an error is a SIGBUS. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/private.h"

#include <fcntl.h>
#include <string.h>

static struct file *file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

/* ---- handles ------------------------------------------------------------------------ */

struct file *file_new(struct fs *fs)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	LOCK_SCOPE(&fs->files_lock);
	file->next = fs->files;
	if (file->next)
		file->next->at = &file->next;
	file->at = &fs->files;
	fs->files = file;
	return file;
}

void file_free(struct fs *fs, struct file *file)
{
	if (!file)
		return;
	pthread_mutex_lock(&fs->files_lock);
	*file->at = file->next;
	if (file->next)
		file->next->at = file->at;
	pthread_mutex_unlock(&fs->files_lock);
	pass_close(fs, file);
	if (file->part)
		part_close(file->part);
	part_unref(file->part);
	blob_unref(file->blob);
	listing_free(file->listing);
	free(file->text);
	free(file);
}

/* ---- OPEN --------------------------------------------------------------------------- */

/* Ends an OPEN with its reply, unless the request waits. */
static void open_reply(struct fs *fs, fuse_req_t req, int r, struct fuse_file_info *fi)
{
	if (r == FS_WAITS)
		return;
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (handshake_open(req, fi, file_of(fi)->backing) < 0)
		file_free(fs, file_of(fi)); /* the caller is gone: no RELEASE will come */
}

/* LOOKUP found the file, but OPEN does not find it (-ENOENT) or finds a different file (-EBADMSG). ESTALE
 * makes the kernel look the name up again. That LOOKUP knows the result of this OPEN, and tries the next
 * meaning of the path. If the kernel opens the same inode again, OPEN returns the error itself. */
static int open_missed(struct fs *fs, struct node *n, int error)
{
	return node_missed(fs->nodes, n) ? -ESTALE : error;
}

static int open_leaf(struct fs *fs, struct node *n, const struct fetched *f,
	struct fuse_file_info *fi)
{
	struct node_bytes b;
	struct file *file;
	int r;

	if (f->r == -ENOENT || f->r == -EBADMSG)
		return open_missed(fs, n, f->r);
	if (f->r < 0 || (!f->blob && !f->part))
		return f->r < 0 ? f->r : -EIO;
	b = fs_bytes_of(f);
	/* If the bytes differ from those that the page cache may hold, they get another inode: -ESTALE
	 * makes the kernel look the name up again, and old handles keep the old bytes. */
	r = node_settle(fs->nodes, n, &b);
	if (r < 0)
		return r;
	file = file_new(fs);
	if (!file)
		return -ENOMEM;
	if (f->part) {
		part_open(f->part);
		file->part = part_ref(f->part);
	} else {
		file->blob = blob_ref(f->blob);
	}
	fi->fh = (uintptr_t)file;
	fi->keep_cache = 1; /* the page cache never holds other bytes */
	fi->noflush = 1;
	pass_open(fs, n, file, fi);
	return 0;
}

static void open_answer(struct waiting *w, const struct fetched *f)
{
	int r = open_leaf(w->fs, w->node, f, &w->fi);

	open_reply(w->fs, w->req, r, &w->fi);
}

static int open_or_wait(struct fs *fs, fuse_req_t req, struct node *n, struct fuse_file_info *fi)
{
	struct fetched f = {0};
	struct artifact a;
	int r;

	node_artifact(n, &a);
	r = filetypes[a.type].flags & TYPE_MADE ? leaf_stored(fs, n, &f)
						: fetch_try(fs->fetch, &a, 1, FETCH_OPEN, &f);
	if (r == -EAGAIN)
		return leaf_wait(fs, req, n, FETCH_OPEN, open_answer, fi);
	f.r = r < 0 ? r : f.r;
	r = open_leaf(fs, n, &f, fi);
	blob_unref(f.blob);
	return r;
}

/* Writes the text at OPEN. The kernel must not cache its pages. Its size is unknown until then. */
static int open_state(struct fs *fs, fuse_req_t req, const struct node *n, struct fuse_file_info *fi)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(64 << 20);
	struct file *file;
	int r;

	r = state_text(fs, n, fuse_req_ctx(req)->uid, &text);
	if (r < 0)
		return r;
	file = file_new(fs);
	if (!file)
		return -ENOMEM;
	file->text = buf_take(&text, &file->text_n);
	fi->fh = (uintptr_t)file;
	fi->direct_io = 1;
	fi->noflush = 1;
	return 0;
}

static int open_text(struct fs *fs, const struct node *n, struct fuse_file_info *fi)
{
	struct file *file = file_new(fs);

	if (!file)
		return -ENOMEM;
	file->text = strdup(node_text(n));
	if (!file->text) {
		file_free(fs, file);
		return -ENOMEM;
	}
	file->text_n = strlen(file->text);
	fi->fh = (uintptr_t)file;
	fi->keep_cache = 1;
	fi->noflush = 1;
	return 0;
}

static int open_node(struct fs *fs, fuse_req_t req, struct node *n, struct fuse_file_info *fi)
{
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		return -EROFS;
	switch (node_kind(n)) {
	case NODE_LEAF:
		return open_or_wait(fs, req, n, fi);
	case NODE_STATE:
		return open_state(fs, req, n, fi);
	case NODE_TEXT:
		return open_text(fs, n, fi);
	case NODE_DIR:
		return -EISDIR;
	default:
		return -EINVAL;
	}
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct node *n = node_find(fs->nodes, ino);
	int r;

	atomic_fetch_add(&fs->counters.opens, 1);
	r = n ? open_node(fs, req, n, fi) : -ESTALE;
	node_unref(fs->nodes, n);
	open_reply(fs, req, r, fi);
}

/* ---- READ --------------------------------------------------------------------------- */

/* Copies the bytes: another thread may close the file, and RELEASE free it, before the reply returns.
 * Returns their number, less than `size` at the end of the file; or -errno. */
static ssize_t read_file(const struct file *file, uint64_t off, char *p, size_t size)
{
	size_t n;

	if (file->blob)
		return blob_read(file->blob, off, p, size);
	if (file->part)
		return part_read(file->part, off, p, size);
	n = off < file->text_n ? MIN(size, file->text_n - off) : 0;
	if (n)
		memcpy(p, file->text + off, n);
	return (ssize_t)n;
}

/* The buffer that a thread of the loop reads to. It is kept, because free() would return memory of this
 * size to the kernel, which would zero its pages again. */
struct room {
	size_t n;
	char p[];
};

/* The thread's buffer, of at least `size` bytes; NULL: out of memory. */
static char *room_of(struct fs *fs, size_t size)
{
	struct room *old = pthread_getspecific(fs->room), *room;

	if (old && old->n >= size)
		return old->p;
	room = malloc(sizeof(*room) + size);
	if (!room || pthread_setspecific(fs->room, room) != 0) {
		free(room);
		return NULL;
	}
	free(old);
	room->n = size;
	return room->p;
}

/* Ends a READ with its reply. */
static void read_reply(struct fs *fs, fuse_req_t req, const char *p, ssize_t n)
{
	if (n > 0)
		atomic_fetch_add(&fs->counters.bytes, (uint64_t)n);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, p, (size_t)n);
}

/* Replies to a READ that waited: the bytes have arrived, or no source can give them. */
static void read_answer(struct waiting *w, const struct fetched *f)
{
	_cleanup_free_ char *p = f->r == 0 ? malloc(w->size) : NULL;
	ssize_t n = f->r < 0 ? f->r : -ENOMEM;

	if (p)
		n = part_read_told(w->part, w->off, p, w->size);
	read_reply(w->fs, w->req, p, n);
}

/* Whether to refuse a read-around. For a page that a mapping lacks, the kernel reads 64 KiB before and
 * behind it. In a sparse file that would fetch three blocks in place of one. No program sees the error:
 * the kernel then asks for the page alone. A read with O_DIRECT has the size that the program asked for. */
static bool is_around(const struct fs *fs, const struct file *file, uint64_t off, size_t size,
	const struct fuse_file_info *fi)
{
	return size > fs->page && off % fs->page == 0 && !(fi->flags & O_DIRECT) &&
		part_refuses(file->part, off, size);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	FS_OP(fs, req);
	struct file *file = file_of(fi);
	char *p = room_of(fs, size);
	ssize_t n = p ? read_file(file, (uint64_t)off, p, size) : -ENOMEM;

	atomic_fetch_add(&fs->counters.reads, 1);
	while (n == -EAGAIN && file->part && !is_around(fs, file, (uint64_t)off, size, fi)) {
		int r = wait_bytes(fs, req, file->part, (uint64_t)off, size, read_answer);

		if (r == 0)
			return;
		n = r < 0 ? r : read_file(file, (uint64_t)off, p, size);
	}
	read_reply(fs, req, p, n);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	FS_OP(fs, req);

	file_free(fs, file_of(fi));
	fuse_reply_err(req, 0);
}

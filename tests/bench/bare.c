/* A FUSE server of one file that does as little as possible, for benchmarks. Its cost is the price
 * of FUSE; what symfs costs more is symfs's own.
 *
 *	bare FILE MOUNTPOINT PATH [noopen|reads|any]
 *
 * MOUNTPOINT/PATH has the bytes of FILE; no other name exists. With `any` every path of as many names is such a file,
 * with an inode of its own. The kernel may cache pages, names,
 * attributes and negative entries for ever, as with a whole file of symfs. With `noopen` the
 * server answers OPEN with ENOSYS (FUSE_CAP_NO_OPEN_SUPPORT), so the kernel sends no further OPEN.
 * With `reads` the kernel reads only pages that a reader asks for, and the server prints a line
 * `OFFSET SIZE` for each READ, which tests/bench/ahead.c replays. The server runs until it is
 * unmounted. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOREVER 86400.0
#define DEPTH 16

struct bare {
	int fd;
	off_t size;
	bool no_open, tell, any;
	atomic_uint_fast64_t found; /* with `any`: names looked up */
	/* of the path; the number of the nth is FUSE_ROOT_ID + 1 + n, and the last is the file */
	char *names[DEPTH];
	unsigned n;
};

/* How deep the inode is below the root; with `any`, the low bits of its number say it. */
static unsigned depth(fuse_ino_t ino)
{
	return (unsigned)(ino - FUSE_ROOT_ID) % (2 * DEPTH);
}

static bool is_file(const struct bare *b, fuse_ino_t ino)
{
	return depth(ino) == b->n;
}

static struct stat attributes(const struct bare *b, fuse_ino_t ino)
{
	struct stat st = {.st_ino = ino, .st_nlink = 1, .st_mode = S_IFDIR | 0555};

	if (is_file(b, ino)) {
		st.st_mode = S_IFREG | 0444;
		st.st_size = b->size;
		st.st_blocks = (b->size + 511) / 512;
	}
	return st;
}

static void bare_init(void *ctx, struct fuse_conn_info *conn)
{
	const struct bare *b = ctx;

	conn->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
		FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	conn->want |= conn->capable & FUSE_CAP_ASYNC_READ;
	if (b->tell)
		conn->max_readahead = 0;
	if (b->no_open)
		conn->want |= conn->capable & FUSE_CAP_NO_OPEN_SUPPORT;
}

static void bare_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e = {.attr_timeout = FOREVER, .entry_timeout = FOREVER};
	struct bare *b = fuse_req_userdata(req);

	if (!is_file(b, parent) && (b->any || strcmp(name, b->names[depth(parent)]) == 0))
		e.ino = FUSE_ROOT_ID + depth(parent) + 1 + (b->any ? 2 * DEPTH * atomic_fetch_add(&b->found, 1) : 0);
	if (e.ino)
		e.attr = attributes(b, e.ino);
	fuse_reply_entry(req, &e);
}

static void bare_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = attributes(fuse_req_userdata(req), ino);

	fuse_reply_attr(req, &st, FOREVER);
}

static void bare_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct bare *b = fuse_req_userdata(req);

	if (b->no_open) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	fi->keep_cache = 1;
	fi->noflush = 1;
	fuse_reply_open(req, fi);
}

static void bare_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	const struct bare *b = fuse_req_userdata(req);
	char *p = malloc(size);
	ssize_t n = p ? pread(b->fd, p, size, off) : -1;

	if (b->tell) {
		printf("%llu %zu\n", (unsigned long long)off, size);
		fflush(stdout);
	}
	if (n < 0)
		fuse_reply_err(req, EIO);
	else
		fuse_reply_buf(req, p, (size_t)n);
	free(p);
}

static const struct fuse_lowlevel_ops ops = {
	.init = bare_init,
	.lookup = bare_lookup,
	.getattr = bare_getattr,
	.open = bare_open,
	.read = bare_read,
};

static int serve(struct bare *b, const char *point)
{
	char *words[] = {(char *)"bare", (char *)"-o", (char *)"ro,fsname=bare", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session = fuse_session_new(&args, &ops, sizeof(ops), b);
	int r = 1;

	if (session && config && fuse_session_mount(session, point) == 0) {
		r = fuse_session_loop_mt(session, config);
		fuse_session_unmount(session);
	}
	if (session)
		fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	return r;
}

int main(int argc, char **argv)
{
	struct bare b = {.fd = -1};
	struct stat st;

	if (argc < 4) {
		fprintf(stderr, "usage: bare FILE MOUNTPOINT PATH [noopen|reads|any]\n");
		return 2;
	}
	for (char *name = strtok(argv[3], "/"); name && b.n < DEPTH; name = strtok(NULL, "/"))
		b.names[b.n++] = name;
	b.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (b.fd < 0 || fstat(b.fd, &st) < 0) {
		perror(argv[1]);
		return 1;
	}
	b.size = st.st_size;
	b.no_open = argc > 4 && strcmp(argv[4], "noopen") == 0;
	b.any = argc > 4 && strcmp(argv[4], "any") == 0;
	b.tell = argc > 4 && strcmp(argv[4], "reads") == 0;
	return serve(&b, argv[2]) == 0 ? 0 : 1;
}

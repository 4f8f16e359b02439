/* Adds what is missing from the replies of libfuse before 3.17:
 *
 * - FUSE_PARALLEL_DIROPS: the kernel may send several LOOKUPs into one directory at a time. libfuse knows
 *   the flag, but does not pass it on. Without the flag, one LOOKUP that waits for a server blocks every
 *   other process that looks up a name in that directory. Such a process sleeps on a mutex, and not even
 *   SIGKILL wakes it;
 * - passthrough, which libfuse does not know: the flag for it, and the kernel's number of the file in each
 *   reply to OPEN. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/kernel.h"
#include "fs/private.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17) /* 3.17 has another soname: no check at run time is necessary */
/* The kernel's number of the file that the OPEN on this thread passes through; 0: no passthrough. */
static _Thread_local int32_t opening;

/* Keeps the flags of INIT, the first request: they are the features that the kernel offers. */
static void note_offer(struct fs *fs, const char *p, size_t n)
{
	struct fuse_in_header head;
	struct fuse_init_in init;

	if (n < sizeof(head) + sizeof(init))
		return;
	memcpy(&head, p, sizeof(head));
	memcpy(&init, p + sizeof(head), sizeof(init));
	if (head.opcode == FUSE_INIT && init.flags & FUSE_INIT_EXT)
		fs->offered = (uint64_t)init.flags2 << 32;
}

static ssize_t shake_read(int fd, void *p, size_t n, void *ctx)
{
	struct fs *fs = ctx;
	ssize_t got = read(fd, p, n);

	if (got > 0 && !atomic_load(&fs->shaken))
		note_offer(fs, p, (size_t)got);
	return got;
}

/* Writes the reply to INIT, which is the first reply. */
static ssize_t write_init(const struct fs *fs, int fd, const struct iovec *iov)
{
	const uint32_t depth = 1;
	struct fuse_init_out out = {0};
	struct iovec with[2] = {iov[0], {.iov_base = &out, .iov_len = iov[1].iov_len}};

	memcpy(&out, iov[1].iov_base, iov[1].iov_len);
	if (fs->parallel)
		out.flags |= FUSE_PARALLEL_DIROPS;
	if (fs->passes && iov[1].iov_len == sizeof(out)) {
		if (!(out.flags & FUSE_INIT_EXT))
			out.flags2 = 0;
		out.flags |= FUSE_INIT_EXT;
		out.flags2 |= (uint32_t)(FUSE_PASSTHROUGH >> 32);
		memcpy((char *)&out + FUSE_INIT_OUT_STACK_DEPTH, &depth, sizeof(depth));
	}
	return writev(fd, with, 2);
}

static ssize_t write_open(int fd, const struct iovec *iov)
{
	struct fuse_open_out out;
	struct iovec with[2] = {iov[0], {.iov_base = &out, .iov_len = sizeof(out)}};

	memcpy(&out, iov[1].iov_base, sizeof(out));
	out.open_flags |= FOPEN_PASSTHROUGH;
	memcpy((char *)&out + FUSE_OPEN_OUT_BACKING_ID, &opening, sizeof(opening));
	return writev(fd, with, 2);
}

static ssize_t shake_writev(int fd, struct iovec *iov, int count, void *ctx)
{
	struct fs *fs = ctx;
	bool first = !atomic_exchange(&fs->shaken, true);

	if (count != 2 || iov[0].iov_len != sizeof(struct fuse_out_header))
		return writev(fd, iov, count);
	if (first && iov[1].iov_len <= sizeof(struct fuse_init_out) &&
		iov[1].iov_len >= offsetof(struct fuse_init_out, flags) + sizeof(uint32_t))
		return write_init(fs, fd, iov);
	if (opening && iov[1].iov_len == sizeof(struct fuse_open_out))
		return write_open(fd, iov);
	return writev(fd, iov, count);
}

int handshake_prepare(struct fs *fs)
{
	const struct fuse_custom_io io = {.read = shake_read, .writev = shake_writev};

	return fuse_session_custom_io(fs->session, &io, fuse_session_fd(fs->session));
}

bool handshake_passes(const struct fs *fs, struct fuse_conn_info *conn)
{
	return fs->offered & FUSE_PASSTHROUGH;
}

int handshake_open(fuse_req_t req, const struct fuse_file_info *fi, int backing)
{
	int r;

	opening = backing;
	r = fuse_reply_open(req, fi);
	opening = 0;
	return r;
}
#else
int handshake_prepare(struct fs *fs)
{
	return 0;
}

bool handshake_passes(const struct fs *fs, struct fuse_conn_info *conn)
{
	if (!(conn->capable & FUSE_CAP_PASSTHROUGH))
		return false;
	conn->want |= FUSE_CAP_PASSTHROUGH;
	conn->max_backing_stack_depth = FUSE_BACKING_STACKED_UNDER;
	return true;
}

int handshake_open(fuse_req_t req, const struct fuse_file_info *fi, int backing)
{
	struct fuse_file_info with = *fi;

	with.backing_id = backing;
	return fuse_reply_open(req, &with);
}
#endif

/* libfuse before 3.17 knows FUSE_CAP_PARALLEL_DIROPS, and forgets to tell the kernel. Without it
 * the kernel lets one LOOKUP at a time into a directory: while it waits for a server, whoever
 * looks up anything else there sleeps on a mutex, and not even SIGKILL wakes him. So we put the
 * word into the handshake ourselves. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/private.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17) /* 3.17 is another soname: no need to ask at run time */
static ssize_t shake_read(int fd, void *p, size_t n, void *ctx)
{
	return read(fd, p, n);
}

/* The answer to INIT, which is the first of all. */
static ssize_t write_init(int fd, const struct iovec *iov)
{
	struct fuse_init_out out = {0};
	struct iovec with[2] = {iov[0], {.iov_base = &out, .iov_len = iov[1].iov_len}};

	memcpy(&out, iov[1].iov_base, iov[1].iov_len);
	out.flags |= FUSE_PARALLEL_DIROPS;
	return writev(fd, with, 2);
}

static ssize_t shake_writev(int fd, struct iovec *iov, int count, void *ctx)
{
	struct fs *fs = ctx;
	bool first = !atomic_exchange(&fs->shaken, true);

	if (first && fs->parallel && count == 2 &&
		iov[0].iov_len == sizeof(struct fuse_out_header) &&
		iov[1].iov_len <= sizeof(struct fuse_init_out) &&
		iov[1].iov_len >= offsetof(struct fuse_init_out, flags) + sizeof(uint32_t))
		return write_init(fd, iov);
	return writev(fd, iov, count);
}

int handshake_prepare(struct fs *fs)
{
	const struct fuse_custom_io io = {.read = shake_read, .writev = shake_writev};

	return fuse_session_custom_io(fs->session, &io, fuse_session_fd(fs->session));
}
#else
int handshake_prepare(struct fs *fs)
{
	return 0;
}
#endif

/* The helper process of a mount. Its input is hostile: an attacker may have taken over the daemon that
 * sends it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fs/helper-private.h"
#include "fs/helper.h"
#include "fs/kernel.h"
#include "priv/filter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct helping {
	const struct helper_mount *m;
	int device; /* descriptor of /dev/fuse for the mount; -1: none is open, or it is in use as `fuse` */
	int fuse;  /* descriptor of the connection; -1: nothing was mounted */
	long id;   /* of the mount; -1: unknown */
};

/* ---- messages ----------------------------------------------------------------------- */

long helper_send(int sock, const void *p, unsigned long n, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} with = {0};
	struct iovec iov = {.iov_base = (void *)p, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t sent;

	if (fd >= 0) {
		msg.msg_control = with.room;
		msg.msg_controllen = sizeof(with.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

/* Takes the first descriptor of a control message into *fd, and closes the rest. */
static void take_passed(const struct cmsghdr *c, int *fd)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int got;

		memcpy(&got, CMSG_DATA(c) + i * sizeof(got), sizeof(got));
		if (*fd < 0)
			*fd = got;
		else
			close(got);
	}
}

/* The padding of the control buffer has room for a second descriptor, which the kernel may use. The kernel
 * itself closes a third descriptor. */
long helper_receive(int sock, void *p, unsigned long n, int *fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} with = {0};
	struct iovec iov = {.iov_base = p, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = with.room,
		.msg_controllen = sizeof(with.room)};
	ssize_t got;

	*fd = -1;
	do
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_passed(c, fd);
	return msg.msg_flags & MSG_TRUNC ? (long)n + 1 : got;
}

/* ---- the requests ------------------------------------------------------------------- */

/* The id of the uppermost mount at the place; -1: unknown. Sends no request to that mount. */
static long mount_id_at(const char *point)
{
	_cleanup_close_ int at = open(point, O_PATH | O_NOFOLLOW | O_CLOEXEC), info = -1;
	char name[40], text[512], *line;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", at);
	info = at >= 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	n = info >= 0 ? read(info, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return -1;
	text[n] = '\0';
	line = strstr(text, "mnt_id:");
	return line ? strtol(line + strlen("mnt_id:"), NULL, 10) : -1;
}

/* Detaches a dead mount: only a FUSE mount whose daemon is gone gives ENOTCONN or ECONNABORTED. Refuses
 * after mount_it(): the helper's own daemon might not answer statx(). The helper would wait, and would keep
 * the connection open even after the daemon has ended. */
static int clear(const struct helping *h)
{
	struct statx sx;

	if (h->fuse >= 0 || statx(AT_FDCWD, h->m->point, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC,
		    STATX_BASIC_STATS, &sx) == 0 || (errno != ENOTCONN && errno != ECONNABORTED))
		return -EINVAL;
	return umount2(h->m->point, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

static int mount_it(struct helping *h)
{
	const struct helper_mount *m = h->m;
	_cleanup_close_ int fd = -1;
	char data[160];

	if (h->fuse >= 0)
		return -EALREADY;
	fd = h->device >= 0 ? take_fd(&h->device) : open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s%s", fd,
		(unsigned)m->user, (unsigned)m->group, m->allow_other ? ",allow_other" : "",
		m->default_permissions ? ",default_permissions" : "");
	if (mount(m->source, m->point, "fuse.symfs", m->flags | MS_RDONLY, data) < 0)
		return -errno;
	h->id = mount_id_at(m->point);
	h->fuse = take_fd(&fd);
	return 0;
}

/* Unmounts, unless another mount covers the place by now. */
static int unmount(const struct helping *h)
{
	if (h->fuse < 0 || (h->id >= 0 && mount_id_at(h->m->point) != h->id))
		return -EINVAL;
	return umount2(h->m->point, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

/* The kernel reads the file with the helper's rights, so the daemon must have it open for reading: a
 * descriptor of O_PATH proves nothing. */
static int pass(const struct helping *h, int fd)
{
	struct fuse_backing_map map = {.fd = fd};
	struct stat st;
	int flags = fcntl(fd, F_GETFL), r;

	if (h->fuse < 0 || flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) != O_RDONLY ||
		fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != h->m->daemon)
		return -EBADF;
	r = ioctl(h->fuse, FUSE_DEV_IOC_BACKING_OPEN, &map);
	return r > 0 ? r : r < 0 ? -errno : -EIO;
}

static int pass_end(const struct helping *h, int32_t number)
{
	uint32_t id = (uint32_t)number;

	if (h->fuse < 0 || number <= 0)
		return -EINVAL;
	return ioctl(h->fuse, FUSE_DEV_IOC_BACKING_CLOSE, &id) < 0 ? -errno : 0;
}

static int32_t answer(struct helping *h, const struct helper_ask *ask, int fd)
{
	if ((fd >= 0) != (ask->op == HELPER_PASS))
		return -EINVAL;
	switch (ask->op) {
	case HELPER_CLEAR:
		return clear(h);
	case HELPER_MOUNT:
		return mount_it(h);
	case HELPER_UNMOUNT:
		return unmount(h);
	case HELPER_PASS:
		return pass(h, fd);
	case HELPER_PASS_END:
		return pass_end(h, ask->arg);
	}
	return -EINVAL;
}

/* ---- the loop ----------------------------------------------------------------------- */

/* False: the daemon has ended, or its message is malformed. */
static bool serve_one(struct helping *h, int sock)
{
	_cleanup_close_ int fd = -1;
	struct helper_ask ask;
	struct helper_answer a;

	if (helper_receive(sock, &ask, sizeof(ask), &fd) != sizeof(ask))
		return false;
	a.r = answer(h, &ask, fd);
	return helper_send(sock, &a, sizeof(a),
		       ask.op == HELPER_MOUNT && a.r == 0 ? h->fuse : -1) == sizeof(a);
}

static int shut_in(void)
{
	static const char *const calls[] = {"recvmsg", "sendmsg", "openat", "read", "close", "fcntl",
		"fcntl64", "fstat", "fstat64", "newfstatat", "statx", "ioctl", "mount", "umount",
		"umount2", "exit", "exit_group", "rt_sigreturn", "restart_syscall"};

	return filter_set(calls, ARRAY_SIZE(calls), false);
}

/* A stopped helper (SIGSTOP) would keep the connection open after its daemon has ended. So each message, and
 * the end of the daemon, make the kernel send SIGCONT to the helper. PR_SET_PDEATHSIG would not work:
 * Landlock blocks signals from the daemon. */
static void continue_at_messages(int sock)
{
	fcntl(sock, F_SETSIG, SIGCONT);
	fcntl(sock, F_SETOWN, getpid());
	fcntl(sock, F_SETFL, fcntl(sock, F_GETFL) | O_ASYNC);
}

int helper_serve(int sock, int device, const struct helper_mount *m)
{
	struct helping h = {.m = m, .device = device, .fuse = -1, .id = -1};
	int r;

	continue_at_messages(sock);
	r = shut_in();
	/* On a kernel without seccomp filters, the dropped capabilities and the small input still protect
	 * the system. */
	if (r < 0 && r != -ENOTSUP)
		return 4;
	while (serve_one(&h, sock))
		;
	if (m->auto_unmount)
		unmount(&h);
	return 0;
}

/* The program `unwind`: unwinds the stacks of a core file or of a copied process. symfs starts it
 * (stacks/unwind.c); it is a program of its own so that symfs needs neither libdw nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "base/write.h"
#include "priv/worker.h"
#include "unwinder/unwinder.h"

#include <string.h>
#include <sys/socket.h>

static int put(void *ctx, const struct unwinder_record *r)
{
	return write_all(UNWINDER_OUT, r, sizeof(*r));
}

/* Receives the answer of the starting process, and a descriptor with it. */
static int receive(struct unwinder_file *f)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec v = {f, sizeof(*f)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(UNWINDER_SOCKET, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*f))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return f->r == 0 ? fd : -1;
}

static int ask_file(void *ctx, const struct unwinder_ask *ask)
{
	struct unwinder_file f;

	return write_all(UNWINDER_SOCKET, ask, sizeof(*ask)) < 0 ? -1 : receive(&f);
}

static int work(struct worker_word *w, char **argv, struct err *e)
{
	struct unwinder u = {.memory = UNWINDER_MEMORY, .file = ask_file, .put = put};
	/* libelf calls newfstatat and fcntl; descriptors of files come by recvmsg. */
	static const struct worker_filter filter = {.more = {"newfstatat", "fcntl", "fcntl64", "recvmsg"},
		.done = "unwound"};
	struct span task = {0};
	int r = map_fd(&task, UNWINDER_TASK, e);

	if (r == 0)
		r = worker_enter(argv, &filter, UNWINDER_FRAMES_MOST * 2ull * sizeof(struct unwinder_record), w, e);
	if (r == 0)
		r = unwinder_task(&u, task.p, task.n);
	return r < 0 ? r : unwinder_run(&u, e);
}

int main(int argc, char **argv)
{
	struct worker_word w = {0};
	struct err e = {0};

	worker_arguments(argc, argv, 0);
	worker_leave(&w, work(&w, argv, &e), &e, NULL, 0);
}

/* The program `unwind`: unwinds the stacks of a core file or of a copied process. symfs starts it
 * (stacks/unwind.c); it is a program of its own so that symfs needs neither libdw nor libelf. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "base/write.h"
#include "priv/worker.h"
#include "unwinder/unwinder.h"

#include <stdio.h>
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

static int work(struct unwinder_word *w, char **argv, struct err *e)
{
	struct unwinder u = {.memory = UNWINDER_MEMORY, .file = ask_file, .put = put};
	/* libelf calls newfstatat and fcntl; descriptors of files come by recvmsg. */
	const struct worker_filter filter = {.more = {"newfstatat", "fcntl", "fcntl64", "recvmsg"},
		.may_lack = strcmp(argv[3], UNWINDER_MAY) == 0, .done = "unwound"};
	struct span task = {0};
	int r = map_fd(&task, UNWINDER_TASK, e);
	bool bare;

	if (r < 0)
		return r;
	worker_limit(strtoull(argv[1], NULL, 10), (uint64_t)UNWINDER_FRAMES_MOST * 2 * sizeof(struct unwinder_record),
		strtoull(argv[2], NULL, 10));
	r = worker_filter(&filter, &bare, e);
	if (r < 0)
		return r;
	w->bare = bare;
	r = unwinder_task(&u, task.p, task.n);
	return r < 0 ? r : unwinder_run(&u, e);
}

int main(int argc, char **argv)
{
	struct unwinder_word w = {0};
	struct err e = {0};

	worker_version(argc, argv);
	if (argc != 4) {
		fputs("unwind is started by symfs, and is no command\n", stderr);
		return 2;
	}
	w.r = work(&w, argv, &e);
	snprintf(w.text, sizeof(w.text), "%.240s", e.text);
	/* _exit() runs neither destructors nor a leak checker: the filter would stop them. */
	_exit(write_all(UNWINDER_WORD, &w, sizeof(w)) < 0 ? 3 : 0);
}

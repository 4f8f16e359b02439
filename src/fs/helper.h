/* The helper of a mount: a small process that keeps CAP_SYS_ADMIN. The daemon, which reads what servers send
 * and files contain, does not need that capability. The helper mounts at one place, registers files of the
 * store for passthrough, and unmounts. It gets the place and the options before the daemon gives up its
 * rights; later messages have a fixed size and no paths. The helper reads no files and ends with the daemon. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct caps_keep;
struct helper;

/* What is mounted. Constant once the helper has begun. */
struct helper_mount {
	char point[PATH_MAX]; /* as fs_point() spells it */
	char source[256];     /* what the mount table shows as device */
	unsigned long flags;  /* MS_* */
	bool allow_other, default_permissions;
	bool auto_unmount;    /* unmount also when the daemon crashes */
	uid_t user;	      /* the owner of the mount; without allow_other, the only user who may access it */
	gid_t group;
	uid_t daemon;	      /* the daemon's user; only files that this user owns are passed to the kernel */
};

/* Fills `out` from the `-o` options ("allow_other,noexec"); ignores those that only the daemon needs. 0;
 * -ENAMETOOLONG: the path of the mount point is too long. */
int helper_mount_fill(struct helper_mount *out, const char *point, const char *source,
	const char *options, struct err *e);

/* Forks a helper, which gives up all rights but `keep`. Call it before the process starts a thread.
 * 0; -errno and `e`. */
int helper_start(struct helper **out, const struct helper_mount *m, const struct caps_keep *keep,
	struct err *e);
/* Connects to the helper that listens on a Unix socket (`symfs mount-helper`). 0; -errno and `e`. */
int helper_connect(struct helper **out, const char *path, struct err *e);

enum helper_op {
	HELPER_CLEAR = 1, /* detaches a dead mount at the place */
	HELPER_MOUNT,	 /* helper_mount(): the answer has a descriptor */
	HELPER_UNMOUNT,	 /* detaches what it mounted */
	HELPER_PASS,	 /* registers the file `fd` for passthrough; the answer is the kernel's number of it, > 0 */
	HELPER_PASS_END, /* ends the registration `arg` */
};

/* Any thread may call these functions. Each can return -EPIPE: the helper has ended or does not answer. */
int helper_ask(struct helper *h, enum helper_op op, int arg, int fd); /* 0 or more, -errno; `fd` -1: none */
int helper_mount(struct helper *h); /* returns a descriptor of /dev/fuse, which the caller owns; -errno */

int helper_fd(const struct helper *h); /* a descriptor for poll(): POLLHUP when the helper has ended */

/* Ends the helper and waits for its end. NULL is fine. */
void helper_free(struct helper *h);

/* The helper process: serves one daemon until that ends. `device` is /dev/fuse, opened while the
 * process had the rights; -1: opened when it is needed. Returns an exit status. */
int helper_serve(int sock, int device, const struct helper_mount *m);

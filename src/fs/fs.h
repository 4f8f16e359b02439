/* The mount. Turns a path into artifacts, and what fetch/ says into a reply to the kernel. The
 * only user of libfuse. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fetch;
struct fs;

struct fs_opts {
	const char *mountpoint;	  /* absolute */
	const char *options;	  /* further options of libfuse, "allow_other,..." or "" */
	const char *source;	  /* what the mount table shows as device: "symfs" */
	const char *config_text;  /* what .symfs/config shows; without secrets */
	uid_t uid;
	gid_t gid;
	bool exact_size;	  /* getattr waits for the true size */
};

/* Mounts; the kernel may ask from now on, answers begin with fs_loop(). `f` stays the caller's.
 * -EBUSY, -ENOENT, -ENOTDIR, -EPERM: `e` names the mount point and what to do. */
int fs_mount(struct fs **out, struct fetch *f, const struct fs_opts *o, struct err *e);

/* Serves until the mount is gone, fs_stop(), or a signal that ends it. 0, -errno. */
int fs_loop(struct fs *fs);
void fs_stop(struct fs *fs); /* makes fs_loop() return; async-signal-safe */

/* Unmounts when it is still mounted. Every answer has been given: call it after fetch_free() has
 * ended the tickets, or while none is open. */
void fs_free(struct fs *fs);

/* Whether the loop still answers: a getattr of the root within `ms`, for the watchdog. */
bool fs_alive(struct fs *fs);

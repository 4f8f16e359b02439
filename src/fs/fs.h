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
struct helper;

struct fs_opts {
	const char *mountpoint;	  /* absolute */
	const char *options;	  /* further options of libfuse, "allow_other,..." or ""; `nonempty`
				     mounts over a directory that holds something */
	const char *source;	  /* what the mount table shows as device: "symfs" */
	struct helper *helper;	  /* mounts and unmounts for this process; NULL: it does that itself.
				     The caller's, until fs_free() */
	const char *config_text;  /* what .symfs/config shows; without secrets */
	uid_t uid;
	gid_t gid;
	bool exact_size;	  /* getattr waits for the true size */
	bool no_passthrough;	  /* the kernel reads nothing by itself */
	void (*up)(void *ctx);	  /* once, when the kernel and the loop have met; NULL. On a thread
				     of the loop; it must not touch the mount */
	void *up_ctx;
};

/* Mounts; the kernel may ask from now on, answers begin with fs_loop(). `f` stays the caller's.
 * A dead symfs mount at the place is detached and replaced. -EBUSY: a symfs mount that lives;
 * -ENOENT, -ENOTDIR, -ENOTEMPTY, -EPERM, -EINVAL (options), -EIO: `e` names the mount point and
 * what to do. */
int fs_mount(struct fs **out, struct fetch *f, const struct fs_opts *o, struct err *e);

/* Serves until the mount is gone or fs_stop(). 0, -errno. */
int fs_loop(struct fs *fs);
void fs_stop(struct fs *fs); /* makes fs_loop() return; async-signal-safe */

/* What .symfs/config shows from now on. 0, -ENOMEM. */
int fs_set_config_text(struct fs *fs, const char *text);

/* Unmounts when it is still mounted. Every answer has been given: call it after fetch_free() has
 * ended the tickets, or while none is open. */
void fs_free(struct fs *fs);

/* Whether the loop still answers, for the watchdog: false when each of its threads has been in
 * one and the same request for ten seconds. Touches nothing and never waits: a process that asks
 * its own mount cannot even be killed while the answer is missing. */
bool fs_alive(struct fs *fs);

/* ---- mount points, also of other processes ------------------------------------------ */

/* As the mount table spells it: links of the way resolved, the place itself untouched (a dead
 * mount answers nothing). `*out` is yours to free(). -ENOENT, -ENOTDIR. */
int fs_point(const char *path, char **out);

/* Whether a symfs is mounted at the place; asks the mount table only. */
bool fs_is_mounted(const char *point);

enum fs_point_state { FS_POINT_OTHER, FS_POINT_ALIVE, FS_POINT_DEAD };

/* What stands at a place that fs_point() spelled: a symfs mount that answers, one whose daemon
 * is gone, or anything else. Waits as long as that mount takes to answer. */
enum fs_point_state fs_point_state(const char *point);

/* Unmounts: as root by itself, else through fusermount3. -EBUSY, -EINVAL: nothing is mounted. */
int fs_detach(const char *point, bool lazy, struct err *e);

/* The mount: turns paths into artifacts, and answers of fetch/ into replies to the kernel. The only
 * user of libfuse. */
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
				     mounts over a directory that is not empty */
	const char *source;	  /* what the mount table shows as device: "symfs" */
	struct helper *helper;	  /* mounts and unmounts for this process; NULL: fusermount3 does. The
				     caller owns it, and frees it only after fs_free() */
	unsigned mount_ms;	  /* the longest time for fusermount3, which mounts without a helper; 0: 30000 */
	const char *config_text;  /* what .symfs/config shows; without secrets */
	uid_t uid;		  /* the owner that files show */
	gid_t gid;		  /* the group that files show */
	bool exact_size;	  /* getattr waits for the true size */
	bool no_passthrough;	  /* every read goes through the daemon */
	void (*up)(void *ctx);	  /* called once when the mount answers, on a thread of the loop; it must
				     not access the mount; may be NULL */
	void *up_ctx;
};

/* Mounts; the kernel sends requests from now on, and fs_loop() answers them. `f` stays the caller's.
 * First detaches a dead symfs mount at the same place. 0; -EBUSY: a symfs mount there is alive;
 * -ENOENT, -ENOTDIR, -ENOTEMPTY, -EPERM, -EINVAL (options), -EIO, -ETIMEDOUT: `e` names the mount point and
 * what to do. */
int fs_mount(struct fs **out, struct fetch *f, const struct fs_opts *o, struct err *e);

/* Serves until the mount is gone or fs_stop(). 0, -errno. */
int fs_loop(struct fs *fs);
void fs_stop(struct fs *fs); /* makes fs_loop() return; async-signal-safe */

/* Changes what .symfs/config shows. 0, -ENOMEM. */
int fs_set_config_text(struct fs *fs, const char *text);

/* Frees `fs`; unmounts it if it is still mounted. All tickets must be closed: call this after fetch_free().
 * NULL is fine. */
void fs_free(struct fs *fs);

/* Whether the loop still answers, for the watchdog: false when every thread has spent ten seconds in
 * one request. Does not access the mount and never waits: a process that waits for its own mount cannot
 * even be killed. */
bool fs_alive(struct fs *fs);

/* ---- mount points, also of other processes ------------------------------------------ */

/* Makes the path as the mount table spells it. Resolves links in it, but does not access the place itself,
 * which may be a dead mount. `*out` is the caller's to free(). 0, -ENOENT, -ENOTDIR. */
int fs_point(const char *path, char **out);

/* The number of the uppermost mount at the place; -1: that is not a symfs mount. Reads only the mount table. */
int fs_mount_id(const char *point);

/* Unmounts: as root by umount(2), as another user through fusermount3. 0; -EBUSY; -EINVAL: nothing is mounted. */
int fs_detach(const char *point, bool lazy, struct err *e);

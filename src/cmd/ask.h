/* Reads from mounts that may never answer: the daemon is stopped, or belongs to another user. A child process reads
 * each mount, because a process that waits for a stopped daemon can only be killed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_row;

struct ask {
	struct buf text; /* the bytes that the child wrote; the caller sets the limit of their number */
	bool over;	 /* the child has ended its answer, or exceeded the limit; false: the deadline came first */
	/* private */
	pid_t child;
	int from;
};

/* Starts a child that calls `write_answer`, which writes to the pipe `to`. 0; -EDEADLK: this process has several
 * threads; other -errno: no child was started. After an error, `a->over` is true, and `a->text` is empty. */
int ask_start(struct ask *a, void (*write_answer)(void *ctx, int to), void *ctx);

/* Waits for all children for `ms` milliseconds, or until stop() returns true, which it calls several times a
 * second, and then kills the rest. A child that a signal cannot end stays behind, without descriptors of the caller.
 * The caller releases the texts with buf_release(). */
void ask_wait_unless(struct ask *list, unsigned n, unsigned ms, bool (*stop)(void *ctx), void *ctx);
static inline void ask_wait(struct ask *list, unsigned n, unsigned ms)
{
	ask_wait_unless(list, n, ms, NULL, NULL);
}

/* ---- the .symfs files of mounts ---- */

/* Whether the mount belongs to the caller or to root. The daemon of another user can send wrong answers, or
 * none. */
bool mount_is_trusted(const struct mount_row *m);

/* Reads MOUNT/.symfs/NAME in a child process, because a process that waits for a hung daemon can only be killed.
 * 0: the caller frees *text; -ETIMEDOUT: no answer in time; -EIO: only a part of it was read; -ENOMEM; other -errno:
 * it cannot be opened. */
int mount_state(const char *mount, const char *name, char **text);

/* Calls `each` for every symfs mount of the caller or of root whose .symfs/config names the store `dir`. Skips
 * a mount that does not answer. */
void mounts_of_store(const char *dir, void (*each)(void *ctx, const char *mount), void *ctx);

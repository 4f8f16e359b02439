/* Reads from mounts that may never answer: the daemon is stopped, or belongs to another user. A child process reads
 * each mount, because a process that waits for a stopped daemon can only be killed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Waits for all children until clock_ms() is `until`, and then kills the rest. A child that a signal
 * cannot end stays behind, without descriptors of the caller. The caller releases the texts with
 * buf_release(). */
void ask_wait(struct ask *list, unsigned n, uint64_t until);
/* As ask_wait(), but also stops soon after stop() returns true. */
void ask_wait_unless(struct ask *list, unsigned n, uint64_t until, bool (*stop)(void));

/* Questions to a mount that may never be answered: its daemon is stopped, or it is another user's.
 * A child process asks each, because a process that waits for a stopped daemon can only be killed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ask {
	struct buf text; /* what the child wrote; the caller's bound */
	bool over;	 /* it wrote all, or more than the bound; else the deadline came first */
	/* private */
	pid_t child;
	int from;
};

/* Starts a child that calls `write_answer` with a pipe. 0, -errno; then `a` is over with no text. */
int ask_start(struct ask *a, void (*write_answer)(void *ctx, int to), void *ctx);

/* Waits until all have ended, or clock_ms() is `until`, and kills those that have not. A child that a
 * signal cannot end stays behind; it holds none of the caller's descriptors. buf_release() the texts. */
void ask_wait(struct ask *list, unsigned n, uint64_t until);

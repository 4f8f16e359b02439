/* Walks the stacks of a minidump: finds the callers of each thread by unwind rules of Breakpad files, which sources
 * have or symfs makes, then by frame pointers, then by a search of the stack for return addresses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#include <stdatomic.h>

struct derive;
struct fetch;
struct stacks;

/* Where Breakpad files come from. */
struct walk_source {
	struct fetch *fetch;
	struct derive *derive;
	const atomic_bool *stop, *gone; /* end the wait for a file; each may be NULL */
};

#define WALK_FRAMES_MOST 1024u	  /* of a thread */
#define WALK_FRAMES_ALL 65536u	  /* of a dump */
#define WALK_INDEX_MOST (256u << 20) /* bytes of all indexes of Breakpad files */

/* Adds the threads, their frames and the modules of the frames to `out`, which is empty, and the reason of the crash.
 * Blocks while files are fetched and made. 0; -ENOMSG: not a minidump; -EBADMSG, -ENODATA: the dump is broken, or has
 * no threads: `e` says how; -EINTR: `stop` or `gone` became true; -ENOMEM. */
int walk_minidump(struct stacks *out, struct view *dump, const struct walk_source *from, struct err *e);

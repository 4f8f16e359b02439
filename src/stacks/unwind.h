/* Makes stacks from a core file or a running process. The program libexec/symfs/unwind unwinds them in a sandbox;
 * this process gets the files of modules for it. Blocks. One thread at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "stacks/stacks.h"

#include <stdatomic.h>
#include <sys/types.h>

struct fetch;

struct stacks_unwind {
	struct fetch *fetch;
	bool unsandboxed; /* the program may run without a system-call filter if the system cannot set one */
	const atomic_bool *stop; /* true ends it; NULL: never */
};

/* Fills `s`, which is empty: modules, threads, frames, the reason. 0; -ENOMSG: the file is not a core file;
 * -EBADMSG: it is broken; -ENOTSUP: its processor is not known; -ENODATA: it has no threads or no list of modules;
 * -EINTR: `stop`; -EIO: the program `unwind` did not start; -ENOMEM and others of this machine. `e` has the
 * reason. If the program `unwind` ended early, also after a crash, `s` has the threads nevertheless, and frames up to
 * that place; the result is negative. */
int stacks_from_core(struct stacks *s, int fd, uint64_t size, const struct stacks_unwind *how, struct err *e);

/* The same for a process, which is stopped for a moment. -ESRCH: no such process; -EPERM: it may not be traced. */
int stacks_from_process(struct stacks *s, pid_t pid, const struct stacks_unwind *how, struct err *e);

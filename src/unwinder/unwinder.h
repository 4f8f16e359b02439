/* Unwinds the stacks of a program by libdwfl. Only the program `unwind` uses it, on its one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "unwinder/wire.h"

#include <stddef.h>

struct unwinder {
	const struct unwinder_head *head; /* of the task, and what follows it */
	const struct unwinder_module *module;
	const struct unwinder_part *part;
	const struct unwinder_thread *thread;
	int memory; /* descriptor */
	/* Gives a descriptor of a file, which becomes the unwinder's; negative: no source has the file. */
	int (*file)(void *ctx, const struct unwinder_ask *ask);
	/* Takes a record. 0; -errno ends the work. */
	int (*put)(void *ctx, const struct unwinder_record *r);
	void *ctx;
};

/* Checks the lengths in a task of n bytes, and sets the pointers of `u`. 0, -EBADMSG. */
int unwinder_task(struct unwinder *u, const void *task, size_t n);

/* Unwinds all threads. 0; -ENOMEM; errors of put(); -EBADMSG: libdwfl cannot begin, `e` says why. */
int unwinder_run(struct unwinder *u, struct err *e);

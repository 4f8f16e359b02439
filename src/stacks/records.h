/* Takes the records that the program libexec/symfs/unwind writes: the frames of each thread. The program reads files
 * that may be hostile, so its records may be any bytes. Used by stacks/unwind.c, on the thread of its struct
 * stacks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "stacks/stacks.h"

struct dump_thread;
struct unwinder_record;

struct stacks_records {
	const struct dump_thread *thread; /* as the program was given them */
	size_t n_threads;
	bool crashed; /* the first thread did */
	bool cut;     /* the program ended early: the last records are missing */
};

/* Where the records were cut. */
struct stacks_cut {
	uint64_t id;  /* of the thread at which the program ended */
	size_t after; /* the number of threads that it had not begun */
};

/* Adds the threads and their frames to `s`, whose modules are there. A thread without any frame gets that of its
 * registers. If the records are cut, a thread without an end gets a sentence as its end. 1: they were cut before the
 * end of a thread, and `at` says where; 0: no thread lacks its end; -ENOMEM; -E2BIG. */
int stacks_records(struct stacks *s, const struct stacks_records *of, const struct unwinder_record *x, size_t n,
	struct stacks_cut *at);

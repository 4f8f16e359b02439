/* Read-ahead for sparse files: predicts what readers will want next, from what they wanted so far and from where
 * the format keeps its tables. Pure: no clock, no I/O; one thread. The prediction is bounded by what was wanted: a
 * window is at most twice as long as the one before it, and so is a batch of heads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define AHEAD_PAGE 4096u
#define AHEAD_TABLES 12
#define AHEAD_BATCH 128 /* heads that are fetched before a reader asks for them */
#define AHEAD_RUNS 4

/* Bytes of the file, without `end`. */
struct ahead_span {
	uint64_t off, end;
};

/* A reader that reads from front to back. */
struct ahead_run {
	uint64_t next;	 /* where the last window ended; 0: there was none */
	uint64_t window; /* how long it was */
	uint64_t mark;	 /* a read between here and `next` calls for ahead_go_on(); 0: none does */
};

struct ahead {
	uint64_t size; /* of the file */
	unsigned n_tables;
	struct ahead_span tables[AHEAD_TABLES]; /* a reader that begins with one mostly reads on to its end */
	struct ahead_span units;		/* here readers hop over the heads of units; empty: none */
	uint64_t *heads;			/* where these are, ascending; NULL: not known */
	unsigned n_heads;

	struct ahead_run runs[AHEAD_RUNS];
	unsigned next_run;
	unsigned hops, batch; /* heads that were wanted one after the other */
	unsigned next_head;   /* the first behind those that were wanted or fetched */
};

void ahead_begin(struct ahead *a, uint64_t size);
void ahead_end(struct ahead *a);
/* More than AHEAD_TABLES are not kept, nor what lies outside of the file. */
void ahead_table(struct ahead *a, uint64_t off, uint64_t n);
/* Copies those that ascend. -ENOMEM. */
int ahead_heads(struct ahead *a, const uint64_t *heads, unsigned n);

/* Whether these bytes are of units whose heads are not known yet. */
bool ahead_lacks_heads(const struct ahead *a, uint64_t off);

/* A reader waits for [from, to). Returns where the fetch should end, `to` or later. */
uint64_t ahead_window(struct ahead *a, uint64_t from, uint64_t to);

/* A reader came to the mark of run `i`: [*from, *to) is what it will wait for next. False: nothing. */
bool ahead_go_on(struct ahead *a, unsigned i, uint64_t *from, uint64_t *to);

/* For a reader that hops from head to head and waits for [off, end): the pages of the heads that it will want,
 * its own first, in order and none twice. How many; 0: it does not hop. */
unsigned ahead_hop(struct ahead *a, uint64_t off, uint64_t end, struct ahead_span out[static AHEAD_BATCH]);

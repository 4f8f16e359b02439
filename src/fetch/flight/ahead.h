/* Read-ahead for sparse files: predicts the bytes that readers will want next, from the bytes that they wanted so
 * far and from the places of the format's tables. Pure: no clock, no I/O; one thread. A window is at most twice as
 * long as the window before it, and a batch of heads at most twice as long as the batch before it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define AHEAD_PAGE 4096u
#define AHEAD_TABLES 12
#define AHEAD_BATCH 128 /* heads that are fetched before a reader asks for them */
#define AHEAD_RUNS 4	/* readers that are followed at once */

/* A range of bytes of the file; `end` is the offset after the last one. */
struct ahead_span {
	uint64_t off, end;
};

/* A reader that reads from front to back. */
struct ahead_run {
	uint64_t next;	 /* the offset at which the last window ended; 0: there was no window */
	uint64_t window; /* bytes of the last window */
	uint64_t mark;	 /* a read between this offset and `next` calls for ahead_go_on(); 0: no mark */
};

struct ahead {
	uint64_t size; /* bytes of the file */
	unsigned n_tables;
	struct ahead_span tables[AHEAD_TABLES]; /* a reader that begins with a table mostly reads to its end */
	/* Units (as of DWARF), each with a head. Readers hop from head to head. Empty: no units. */
	struct ahead_span units;
	uint64_t *heads;	 /* offsets of the heads of `units`, ascending; NULL: unknown */
	unsigned n_heads;

	struct ahead_run runs[AHEAD_RUNS];
	unsigned next_run;  /* counter; the next new run replaces runs[next_run % AHEAD_RUNS] */
	unsigned hops;	    /* consecutive heads that readers wanted */
	unsigned batch;	    /* heads in the last batch */
	unsigned next_head; /* index of the head after the last head that was wanted or fetched */
};

/* Begins anew for a file of `size` bytes; `a` must be zeroed before the first call. Afterwards `a` owns nothing. */
void ahead_reset(struct ahead *a, uint64_t size);
/* Adds a table. Ignores tables after the first AHEAD_TABLES, and tables that reach outside of the file. */
void ahead_table(struct ahead *a, uint64_t off, uint64_t n);
/* Sets the heads to a copy of `heads`, without those that do not ascend. 0, -ENOMEM. */
int ahead_heads(struct ahead *a, const uint64_t *heads, unsigned n);

/* Whether the byte at `off` belongs to units whose heads are not known yet. */
bool ahead_lacks_heads(const struct ahead *a, uint64_t off);

/* A reader waits for [from, to). Returns the offset at which the fetch should end, `to` or later. */
uint64_t ahead_window(struct ahead *a, uint64_t from, uint64_t to);

/* A reader reached the mark of run `i`. The reader will wait for [*from, *to) next. False: there is no
 * mark, or the file or the table ends here. */
bool ahead_go_on(struct ahead *a, unsigned i, uint64_t *from, uint64_t *to);

/* A reader waits for [off, end). If it hops from head to head, writes the pages of the heads that it will want,
 * in order, each page once. The page that the reader waits for is the first. Returns the number of pages; 0: the
 * reader does not hop. */
unsigned ahead_hop(struct ahead *a, uint64_t off, uint64_t end, struct ahead_span out[static AHEAD_BATCH]);

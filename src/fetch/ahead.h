/* What the readers of a file with holes will want next, by what they wanted so far and by where its format
 * keeps its tables. It only counts: no clock, no I/O, one thread. Whatever it says is bounded by what was
 * wanted: a window is at most twice as long as the one before it, and so is a batch of heads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define AHEAD_PAGE 4096u
#define AHEAD_TABLES 12
#define AHEAD_BATCH 128 /* heads that are fetched before anybody asked for them */
#define AHEAD_RUNS 4

/* Bytes of the file, without `end`. */
struct ahead_span {
	uint64_t off, end;
};

/* One who reads from front to back. */
struct ahead_run {
	uint64_t next;	 /* where his last window ended; 0: none */
	uint64_t window; /* how long it was */
	uint64_t mark;	 /* who reads from here to `next` is asked ahead_go_on() for; 0: nobody */
};

struct ahead {
	uint64_t size; /* of the file */
	unsigned n_tables;
	struct ahead_span tables[AHEAD_TABLES]; /* who begins with one reads on to its end, mostly */
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

/* Somebody waits for [from, to): up to where it is fetched, `to` or more. */
uint64_t ahead_window(struct ahead *a, uint64_t from, uint64_t to);

/* Somebody reads what run `i` marked: [*from, *to) is what he will wait for next. False: nothing. */
bool ahead_go_on(struct ahead *a, unsigned i, uint64_t *from, uint64_t *to);

/* The first again: when he hops from head to head, the pages of the heads that he will want, his own first, in
 * order and none twice. How many; 0: he does not. */
unsigned ahead_hop(struct ahead *a, uint64_t off, uint64_t end, struct ahead_span out[static AHEAD_BATCH]);

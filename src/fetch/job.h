/* Jobs of a flight: each takes plain values along to a worker, waits there for a disk, and comes back to
 * the net thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/flight.h"
#include "source/ptr.h"

struct work {
	struct flight *fl;
	struct attempt *winner; /* of an early check */
	void (*run)(struct work *w);  /* on a worker */
	void (*back)(struct work *w); /* on the net thread */
	/* results and arguments; a flight's constant parts (asked, key, sources, and after the check
	 * what, own) are read directly */
	int r;
	bool walking; /* a tree that may have it is still being walked */
	struct artifact what;
	struct key own;
	char text[400];
	struct blob *blob;
	struct draft *draft;
	struct sparse *sparse;
	struct sparse_validator validator;
	struct probed probed;
	bool opens, fresh; /* a file with holes; which was not there before */
	const struct packing *packing; /* of what is in `draft` or `fd` */
	bool bad;		       /* the file is no good */
	bool beaten;		       /* other bytes were pinned under its key meanwhile: `blob` has these */
	bool sure;		       /* it is what was asked for, by what is here of it */
	bool offered;		       /* flight_offer() */
	uint64_t want;		       /* how much would tell more */
	struct blob_facts facts;
	uint64_t part; /* part_number(); 0 */
	int fd;
	uint64_t have, size;
	char ptr[PTR_MOST];
	size_t ptr_n;
	unsigned job;
	int64_t *until; /* of each source */
};

struct work *work_new(struct flight *fl, void (*run)(struct work *), void (*back)(struct work *));
void work_free(struct work *w); /* that was not started */
/* Takes the work; what came of it is told by back(). -ENOMEM: nothing will. */
int work_start_on(struct workers *workers, struct work *w);
int work_start(struct work *w);
/* Threads that may hang, so that the others do not. NULL: none can be had. */
struct workers *lookers(struct fetch *f);
void out_of_memory(struct flight *fl);
bool is_other(const struct work *w, struct view *v, struct key *own);

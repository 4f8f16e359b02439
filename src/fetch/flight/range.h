/* One request of a download that is filled by ranges: one range, or several pieces in one answer. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/flight/flight.h"
#include "net/multipart.h"

#define PIECES_MOST 64 /* the most pieces of one request: servers reject too many ranges and overlong header lines */

struct range {
	struct range *next;
	struct flight *fl;
	struct transfer *transfer;
	/* Called at the end of the request. `rg` is a copy; the original is freed. */
	void (*over)(struct flight *fl, const struct range *rg, const struct net_reply *r);
	uint64_t off, end, at; /* the range [off, end), and the offset of the next byte to arrive */
	bool fills; /* fills the file; no reader waits for these bytes */
	bool yields; /* ended early in favour of other requests to the host; the rest is requested again */
	uint64_t since, came; /* clock_ms() when the speed measurement began (0: not yet), and the bytes since */
	bool one_only; /* the server answers no more than one range */
	int error;
	/* The pieces: scattered pages instead of blocks. Several arrive as parts of one answer. */
	unsigned n;
	struct ahead_span pieces[PIECES_MOST];
	struct multipart parts;
};

/* Sends a copy, and puts it into the flight's list. 0, -errno. */
int range_send(const struct range *what);
void range_cancel(struct range *rg); /* frees it */
void range_rank(struct range *rg);   /* updates its priority in the host's queue */

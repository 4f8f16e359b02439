/* One request of a download that is filled by ranges: one range, or several pieces in one answer. (net) */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/flight.h"
#include "net/multipart.h"

#define PIECES_MOST 64 /* of one request: servers refuse very many, and very long lines */

struct range {
	struct range *next;
	struct flight *fl;
	struct transfer *transfer;
	/* It ended, is freed, and this is a copy. */
	void (*over)(struct flight *fl, const struct range *rg, const struct net_reply *r);
	uint64_t off, end, at;
	bool fills; /* no reader waits for it in particular */
	bool yields; /* to other requests at its host; the rest of it is asked for again */
	uint64_t since, came; /* clock_ms() of a look at how fast it is, and bytes from then on; 0: none yet */
	bool one_only; /* the server answers no more than one range */
	int error;
	/* n: pages here and there, and no blocks. Several come as parts of one answer. */
	unsigned n;
	struct ahead_span pieces[PIECES_MOST];
	struct multipart parts;
};

/* Sends a copy, and puts it into the flight's list. 0, -errno. */
int range_send(const struct range *what);
void range_cancel(struct range *rg); /* frees it */
void range_rank(struct range *rg);   /* sets how urgent it is by now in the host's queue */
uint64_t range_pieces_size(const struct range *rg);

/* The protocol between a worker and the process that starts it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "derive/convert/partial.h"
#include "derive/convert/worker.h"
#include "priv/worker.h"

/* The worker's descriptors, besides WORKER_WORD. */
enum { WORKER_IN = 3, WORKER_OUT = 4, WORKER_ALT = 6, WORKER_PACKAGE = 7, WORKER_UNITS = 8 };

/* Words of the command line, one for each of the last three descriptors. */
#define WORKER_NONE "none"
#define WORKER_ASK "ask"
#define WORKER_HERE "here"

/* Options of a Breakpad file, in one word: the flags of struct gsym_work that are set. */
#define WORKER_PLAIN "-"
#define WORKER_BARE "b"
#define WORKER_NO_RULES "n"

/* Between the worker of GSYM_WORK_PARTIAL and the process that starts it: packets of a socket pair. The
 * first one is a struct partial_ask and its addresses. Then, in each round, the worker sends all missing
 * ranges (struct msf_lack). It gets their bytes in the same order, in packets of at most PARTIAL_PACKET
 * bytes. A packet has bytes of one range only. */
struct partial_ask {
	uint64_t size; /* bytes of the file */
	uint32_t n;    /* number of addresses, each a uint32_t */
};
#define PARTIAL_PACKET 65536u

/* Behind the struct worker_word: a struct gsym_work_lack, and the ids of missing units. */
#define WORKER_UNITS_AT (sizeof(struct worker_word) + sizeof(struct gsym_work_lack))

/* The protocol between a worker and the process that starts it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/partial.h"
#include "convert/worker.h"

#include <sys/types.h>

/* The worker's descriptors. */
enum { WORKER_IN = 3, WORKER_OUT = 4, WORKER_WORDS = 5, WORKER_ALT = 6, WORKER_PACKAGE = 7, WORKER_UNITS = 8 };

#define WORKER_SECONDS 300 /* the time of a worker, unless gsym_work.seconds says another */

/* Words of the command line, one for each of the last three descriptors. */
#define WORKER_NONE "none"
#define WORKER_ASK "ask"
#define WORKER_HERE "here"

/* Whether the worker may run without a system-call filter if the system cannot set one. */
#define WORKER_MAY "may"
#define WORKER_MUST_NOT "must-not"

/* Options of a Breakpad file, in one word: the flags of struct gsym_work that are set. */
#define WORKER_PLAIN "-"
#define WORKER_BARE "b"
#define WORKER_NO_RULES "n"

/* The word for each output form, by enum gsym_work_form. */
extern const char *const worker_forms[];

/* A process that worker_start() has started. */
struct worker_waiting {
	pid_t pid;
	unsigned seconds;	 /* it is killed after this time */
	const atomic_bool *stop; /* true: it is killed; may be NULL */
	/* Called when the socket has a message; an error kills the process. NULL: it has no socket. */
	int (*serve)(void *ctx);
	void *ctx;
	int socket;
};
/* Waits until it has ended; *status is that of waitpid(). 0; -ETIME: it was killed after its time; -EINTR: because of
 * `stop`; errors of serve(). */
int worker_wait(const struct worker_waiting *w, int *status);
/* What the status says: 0, if the process ended by itself and in peace. Else -EBADMSG, -EIO, -ENOMEM, -ETIMEDOUT as
 * gsym_work(), with a text that lacks its subject. */
int worker_ended(int status, struct err *e);

/* Between the worker of GSYM_WORK_PARTIAL and the process that starts it: packets of a socket pair. The
 * first one is a struct partial_ask and its addresses. Then, in each round, the worker sends all missing
 * ranges (struct msf_lack). It gets their bytes in the same order, in packets of at most PARTIAL_PACKET
 * bytes. A packet has bytes of one range only. */
struct partial_ask {
	uint64_t size; /* bytes of the file */
	uint32_t n;    /* number of addresses, each a uint32_t */
};
#define PARTIAL_PACKET 65536u

/* (worker) Reads a struct partial_ask from the socket, and adds the functions at its addresses to `w`. Returns as
 * gsym_partial(), or -EIO. */
int partial_work(struct gsym_writer *w, int socket, struct err *e);

/* The worker's last message; the ids of missing units follow. */
struct worker_word {
	int r;
	uint8_t bare; /* not 0: the worker ran without a filter; not a bool, because the bytes may be any */
	struct gsym_work_lack lack;
	char text[252];
};

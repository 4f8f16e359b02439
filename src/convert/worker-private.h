/* The protocol between a worker and the process that starts it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/worker.h"

/* Its descriptors. */
enum { WORKER_IN = 3, WORKER_OUT = 4, WORKER_WORDS = 5, WORKER_ALT = 6, WORKER_PACKAGE = 7, WORKER_UNITS = 8 };

/* Words of the command line, one for each of the last three descriptors. */
#define WORKER_NONE "none"
#define WORKER_ASK "ask"
#define WORKER_HERE "here"

/* Whether it may work where no system-call filter can be set. */
#define WORKER_MAY "may"
#define WORKER_MUST_NOT "must-not"

/* What it is to make, by enum gsym_work_form. */
extern const char *const worker_forms[];

/* The last that it says; behind it the ids of units that are lacked. */
struct worker_word {
	int r;
	bool bare; /* it worked without a filter */
	struct gsym_work_lack lack;
	char text[252];
};

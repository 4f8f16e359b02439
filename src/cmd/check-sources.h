/* symfs sources check: sends each source a harmless request. Only cmd-sources.c includes this header. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct sources;

struct check_row {
	const char *state; /* "reachable", "refused", … */
	char text[200];	   /* the reason for the state; "": there is no more to say */
	int status;	   /* the HTTP status; 0: no reply */
	int http;	   /* the HTTP version: 11 for 1.1, 20 for 2; 0: no reply */
	int ranges, two_tier; /* 1: yes; 0: no; -1: unknown */
	unsigned ms; /* milliseconds until the reply */
	bool good; /* the source can serve files */
};

/* Fills a row for each source, in order: `rows` has room for so->n. Asks all sources at once and waits for
 * all. A source that sends nothing for `deadline_ms` has failed. Does not write to the store. 0; -ENOMEM; other
 * -errno: a thread cannot start. */
int check_sources(const struct sources *so, unsigned deadline_ms, struct check_row *rows,
	struct err *e);

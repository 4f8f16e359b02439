/* symfs sources check: asks every source one harmless thing. Known to cmd-sources.c alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct sources;

struct check_row {
	const char *state; /* "reachable", "refused", … */
	char text[200];	   /* in words; "" */
	int status;	   /* of HTTP; 0 */
	int http;	   /* 11, 20; 0 */
	int ranges, two_tier; /* 1, 0; -1: unknown */
	unsigned ms;
	bool good; /* it would serve */
};

/* A row for each source, in order: `rows` has room for so->n. Asks all at once, waits for all, for
 * each at most `deadline_ms` for its next byte, and writes nothing. 0, -ENOMEM, other -errno: a thread cannot
 * start. */
int check_sources(const struct sources *so, unsigned deadline_ms, struct check_row *rows,
	struct err *e);

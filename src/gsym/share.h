/* A section of strings that is there already, for GSYM that names it instead of one of its own. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

struct shared {
	struct span all;
	uint32_t *slot; /* where strings begin, by hash */
	size_t room;
	uint32_t empty; /* where there is one without a byte */
};

/* `all` must outlive it and end with a NUL. 0, -ENOMEM; -EFBIG: 32 bits do not count it. */
int shared_open(struct shared *s, struct span all);
/* Where the text begins; 0: it is not there, or only at the beginning, which means "no text". */
uint32_t shared_find(const struct shared *s, const char *text);
void shared_close(struct shared *s);

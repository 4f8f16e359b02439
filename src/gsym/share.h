/* An existing string section. GSYM refers to its strings, so that they need not be stored twice. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

struct shared {
	struct span all;
	uint32_t *slot; /* where strings begin, by hash */
	size_t room;
	uint32_t empty; /* the offset of an empty string */
};

/* Indexes the strings in `all`, which must outlive `s` and end with a NUL. 0, -ENOMEM; -EFBIG: offsets in
 * `all` exceed 32 bits. */
int shared_open(struct shared *s, struct span all);
/* The offset of the text; 0: the text is missing, or only at offset 0, which means "no text". */
uint32_t shared_find(const struct shared *s, const char *text);
void shared_close(struct shared *s);

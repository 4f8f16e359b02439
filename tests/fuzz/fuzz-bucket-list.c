/* Fuzzes the listings of a bucket: parsing terminates, and names are as short as they may be. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/pages.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static int look(void *ctx, const struct list_entry *e)
{
	unsigned *n = ctx;

	if (strlen(e->name) >= LIST_NAME || ++*n > 100000)
		abort();
	return 0;
}

FUZZ_TARGET("bucket-list", p, n)
{
	char token[LIST_NAME];
	unsigned seen = 0;

	if (list_parse((const char *)p, n, look, &seen, token) == 0 && strlen(token) >= LIST_NAME)
		abort();
	return 0;
}

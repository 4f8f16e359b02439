/* Listings of a bucket: reads the XML of ListObjectsV2. For src/bucket/ and its tests. Pure; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIST_NAME 1100 /* the protocol's limit of names is 1024 bytes */
#define LIST_MOST (8u << 20) /* bytes of one answer, which has at most 1,000 objects */

struct list_entry {
	char name[LIST_NAME]; /* with the bucket's prefix */
	uint64_t size;
	int64_t modified; /* seconds since 1970 */
};

/* Calls `each` for each object, until it returns non-zero; returns that value. `token` gets the word with which the
 * listing continues; "": it is complete. 0; -EBADMSG: malformed, an object without a name, size or time, or an answer
 * that does not say whether it is complete. */
int list_parse(const char *text, size_t n, int (*each)(void *ctx, const struct list_entry *e), void *ctx,
	char token[static LIST_NAME]);

/* The pending list: uses of artifacts, and missing files, that readers noticed. The list is kept in memory
 * until the next write session writes it to the index. Any thread. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PENDING_MOST 128

struct pending_item {
	int64_t object; /* the number of the artifact's row */
	char sha256[SHA256_TEXT];
	bool broken; /* true: the file is gone or has another size; false: the file was used */
};

struct pending {
	pthread_mutex_t lock;
	struct pending_item list[PENDING_MOST]; /* under lock, as are the next fields */
	unsigned n;
	uint64_t oldest; /* clock_ms() when the first item was added */
};

void pending_init(struct pending *p);
void pending_release(struct pending *p);
void pending_add(struct pending *p, int64_t object, const char *sha256, bool broken);
bool pending_is_due(struct pending *p); /* whether the list is half full, or its first item is older than 30 s */
/* Moves all items to `out`. Returns their number. */
unsigned pending_take(struct pending *p, struct pending_item out[static PENDING_MOST]);

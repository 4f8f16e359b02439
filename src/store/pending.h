/* What readers noticed and did not stop to write down: that an artifact was used, or that its file is gone. It is
 * kept in memory until the next session that writes. Any thread. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PENDING_MOST 128

struct pending_item {
	int64_t object;
	char sha256[SHA256_TEXT];
	bool broken; /* else: used */
};

struct pending {
	pthread_mutex_t lock;
	struct pending_item list[PENDING_MOST]; /* under lock, also what follows */
	unsigned n;
	uint64_t oldest; /* clock_ms() of the first */
};

void pending_init(struct pending *p);
void pending_release(struct pending *p);
void pending_add(struct pending *p, int64_t object, const char *sha256, bool broken);
bool pending_is_due(struct pending *p); /* worth a session of its own */
unsigned pending_take(struct pending *p, struct pending_item out[static PENDING_MOST]);

/* What readers noticed and did not stop to write down: that an artifact was used, that its file is
 * gone. The next turn writes it. Any thread. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NOTES_MOST 128

struct note {
	int64_t object;
	char sha256[SHA256_TEXT];
	bool broken; /* else: used */
};

struct notes {
	pthread_mutex_t lock;
	struct note list[NOTES_MOST]; /* under lock, also what follows */
	unsigned n;
	uint64_t oldest; /* clock_ms() of the first */
};

void notes_init(struct notes *n);
void notes_release(struct notes *n);
void notes_add(struct notes *n, int64_t object, const char *sha256, bool broken);
bool notes_are_due(struct notes *n); /* worth writing though nobody has a turn */
unsigned notes_take(struct notes *n, struct note out[static NOTES_MOST]);

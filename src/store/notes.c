/* What readers noticed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/notes.h"
#include "base/clock.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define DUE_MS 30000

void notes_init(struct notes *n)
{
	memset(n, 0, sizeof(*n));
	pthread_mutex_init(&n->lock, NULL);
}

void notes_release(struct notes *n)
{
	pthread_mutex_destroy(&n->lock);
}

void notes_add(struct notes *n, int64_t object, const char *sha256, bool broken)
{
	LOCK_SCOPE(&n->lock);
	struct note *at = n->list;

	while (at < n->list + n->n && (at->object != object || at->broken != broken))
		at++;
	/* A full list loses a note, and with it only the exact order of eviction. */
	if (at < n->list + n->n || n->n == NOTES_MOST)
		return;
	if (n->n++ == 0)
		n->oldest = clock_ms();
	at->object = object;
	at->broken = broken;
	snprintf(at->sha256, sizeof(at->sha256), "%s", sha256);
}

bool notes_are_due(struct notes *n)
{
	LOCK_SCOPE(&n->lock);

	return n->n >= NOTES_MOST / 2 || (n->n && clock_ms() - n->oldest > DUE_MS);
}

unsigned notes_take(struct notes *n, struct note out[static NOTES_MOST])
{
	LOCK_SCOPE(&n->lock);
	unsigned count = n->n;

	memcpy(out, n->list, count * sizeof(*out));
	n->n = 0;
	return count;
}

/* The pending list: uses and missing files that readers noticed, kept until the next writer writes them to the
 * index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "store/session.h"

#include <stdio.h>
#include <string.h>

#define DUE_MS 30000

void pending_add(struct pending *p, int64_t object, const char *sha256, bool broken)
{
	LOCK_SCOPE(&p->lock);
	struct pending_item *at = p->list;

	while (at < p->list + p->n && (at->object != object || at->broken != broken))
		at++;
	/* A full list drops the item. Only the order of eviction becomes less exact. */
	if (at < p->list + p->n || p->n == PENDING_MOST)
		return;
	if (p->n++ == 0)
		p->oldest = clock_ms();
	at->object = object;
	at->broken = broken;
	snprintf(at->sha256, sizeof(at->sha256), "%s", sha256);
}

bool pending_is_due(struct pending *p)
{
	LOCK_SCOPE(&p->lock);

	return p->n >= PENDING_MOST / 2 || (p->n && clock_ms() - p->oldest > DUE_MS);
}

unsigned pending_take(struct pending *p, struct pending_item out[static PENDING_MOST])
{
	LOCK_SCOPE(&p->lock);
	unsigned count = p->n;

	memcpy(out, p->list, count * sizeof(*out));
	p->n = 0;
	return count;
}

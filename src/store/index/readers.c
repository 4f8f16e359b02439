/* The index: the pool of connections that only read. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index/private.h"

#define IDLE_MOST 8 /* connections that are kept open while no thread reads */

int reader_open(struct reader *rd)
{
	struct index *ix = rd->ix;

	{
		LOCK_SCOPE(&ix->lock);
		struct conn *c = ix->idle;

		if (c) {
			ix->idle = c->next;
			ix->idle_n--;
			rd->c = c;
			return 0;
		}
	}
	return conn_open(&rd->c, ix->path, true);
}

void reader_close(struct reader *rd)
{
	struct index *ix = rd->ix;
	struct conn *c = rd->c;

	if (!c)
		return;
	{
		LOCK_SCOPE(&ix->lock);

		if (ix->idle_n < IDLE_MOST) {
			c->next = ix->idle;
			ix->idle = c;
			ix->idle_n++;
			return;
		}
	}
	conn_free(c);
}

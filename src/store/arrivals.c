/* Reports the keys that files of this process get, and whether the store can take files at all. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "store/handle.h"

void store_watch(struct store *s, store_arrived *arrived, void *ctx)
{
	LOCK_SCOPE(&s->watch.lock);

	s->watch.arrived = arrived;
	s->watch.ctx = ctx;
}

void store_announce(struct store *s, const struct store_arrival *a)
{
	LOCK_SCOPE(&s->watch.lock);

	if (s->watch.arrived)
		s->watch.arrived(s->watch.ctx, a);
}

int store_ready(struct store *s, struct err *e)
{
	struct draft *d = NULL;
	char text[201];
	int r = draft_new(&d, s, e);

	draft_discard(d);
	if (r < 0)
		return r;
	r = store_note(s, "ready", text);
	return r == 0 || r == -ENOENT ? 0 : err_set(e, r, "%s: the index cannot be read: %s", s->dir, err_text(r));
}

/* Files that a server did not have, and that it is asked for once more later, without a client (ask-again): a server
 * may begin to look for a file only when it is asked. Net thread only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <stdlib.h>

#define LATERS_MOST 64 /* further files are not asked for again */

struct later {
	struct later *next;
	struct fetch *f;
	struct net_timer timer;
	struct ticket *ticket; /* NULL: the time has not come */
	struct artifact what;
	struct key key;
};

static void later_free(struct later *l)
{
	struct later **at = &l->f->laters;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	net_timer_stop(l->f->net, &l->timer);
	ticket_unref(l->ticket);
	free(l);
}

static void later_answered(void *ctx, const struct fetched *a)
{
	struct later *l = ctx;
	char room[KEY_TEXT];

	log_debug(LOG_FETCH, "%s: the sources were asked again: %s", key_text(&l->key, room),
		a->r == 0 ? "found" : a->why);
	later_free(l);
}

/* Tickets are answered on this thread, and never within fetch_open(). */
static void later_ask(void *ctx)
{
	struct later *l = ctx;

	if (fetch_open(l->f, &l->what, 1, FETCH_WHOLE, later_answered, l, &l->ticket) < 0)
		later_free(l);
}

/* While a file is listed, its misses lead to no further request: so it is asked for once. */
void later_note(struct fetch *f, const struct artifact *what, const struct key *k, int64_t seconds)
{
	struct later *l = f->laters;
	unsigned n = 0;

	for (; l && !key_equal(&l->key, k); l = l->next)
		n++;
	if (l || n >= LATERS_MOST || f->closing || !(l = calloc(1, sizeof(*l))))
		return;
	*l = (struct later){.next = f->laters, .f = f, .what = *what, .key = *k};
	f->laters = l;
	net_timer_set(f->net, &l->timer, (unsigned)MIN(seconds, 86400) * 1000, later_ask, l);
}

/* Those that are asked for are answered when their flight ends. */
void laters_stop(struct fetch *f)
{
	for (struct later *l = f->laters, *next; l; l = next) {
		next = l->next;
		if (!l->ticket)
			later_free(l);
	}
}

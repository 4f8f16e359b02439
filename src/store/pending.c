/* The pending list: uses and missing files that readers noticed, kept until the next writer writes them to the
 * index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/settle.h"
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

/* Whether the list is half full, or its first item is older than 30 s. */
static bool pending_is_due(struct pending *p)
{
	LOCK_SCOPE(&p->lock);

	return p->n >= PENDING_MOST / 2 || (p->n && clock_ms() - p->oldest > DUE_MS);
}

/* Moves all items to `out`. Returns their number. */
static unsigned pending_take(struct pending *p, struct pending_item out[static PENDING_MOST])
{
	LOCK_SCOPE(&p->lock);
	unsigned count = p->n;

	memcpy(out, p->list, count * sizeof(*out));
	p->n = 0;
	return count;
}

void pending_write(struct session *ses)
{
	_cleanup_free_ struct pending_item *list = calloc(PENDING_MOST, sizeof(*list));
	unsigned n = list ? pending_take(&ses->s->pending, list) : 0;
	int64_t now = store_now(ses->s), past = store_past(ses->s);
	int r = 0;

	if (n == 0)
		return;
	r = index_begin(ses->ix);
	for (unsigned i = 0; i < n && r == 0; i++)
		r = list[i].broken ? index_intent_add(ses->ix, list[i].sha256, false)
				   : index_object_used(ses->ix, list[i].object, now, past);
	if (r == 0)
		r = settle_all(ses->s, ses->ix);
	r = index_end(ses->ix, r);
	if (r < 0)
		log_debug(LOG_STORE, "pending uses were lost: %s", err_text(r));
}

void pending_try(struct store *s)
{
	_cleanup_index_ struct index *ix = NULL;
	_cleanup_free_ struct pending_item *list = NULL;
	int64_t used[PENDING_MOST];
	unsigned n, n_used = 0;

	if (!pending_is_due(&s->pending) || pthread_mutex_trylock(&s->write_lock) != 0)
		return;
	list = calloc(PENDING_MOST, sizeof(*list));
	ix = session_index(s);
	n = list && ix ? pending_take(&s->pending, list) : 0;
	for (unsigned i = 0; i < n; i++)
		if (!list[i].broken)
			used[n_used++] = list[i].object;
	if (n_used && index_try_used(ix, used, n_used, store_now(s), store_past(s)) < 0)
		n_used = 0;
	for (unsigned i = 0; i < n; i++)
		if (list[i].broken || n_used == 0)
			pending_add(&s->pending, list[i].object, list[i].sha256, list[i].broken);
	pthread_mutex_unlock(&s->write_lock);
}

/* The index: answers that are given again within the same second, until a process commits to the index. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "store/index/private.h"

#include <string.h>

/* The answer behind the texts; NULL: it is that of another question, or old. */
static const char *answer_of(const struct recent *e, const struct recent *now, const struct question *q)
{
	const char *p = e->texts;

	if (!p || e->query != q->query || e->when != now->when || memcmp(e->head, now->head, sizeof(e->head)) != 0)
		return NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(q->text); i++, p += strlen(p) + 1)
		if (strcmp(p, q->text[i]) != 0)
			return NULL;
	return p;
}

static void keep(struct index *ix, struct recent *at, struct recent *e, const struct question *q, const void *p,
	size_t n)
{
	size_t sizes[ARRAY_SIZE(q->text)], all = n;
	char *to;

	for (unsigned i = 0; i < ARRAY_SIZE(q->text); i++)
		all += sizes[i] = strlen(q->text[i]) + 1;
	e->texts = to = malloc(all);
	for (unsigned i = 0; to && i < ARRAY_SIZE(q->text); to += sizes[i++])
		memcpy(to, q->text[i], sizes[i]);
	if (to)
		memcpy(to, p, n);
	pthread_mutex_lock(&ix->lock);
	to = at->texts;
	*at = *e;
	pthread_mutex_unlock(&ix->lock);
	free(to);
}

int recent_ask(struct index *ix, const struct question *q,
	int (*ask)(struct rows *rows, const struct question *q, void *out), void *out, size_t n)
{
	_cleanup_rows_ struct rows rows = READ_ROWS(ix);
	struct recent now = {.query = q->query, .when = clock_wall()}, *at;
	uint64_t hash = q->query;

	for (unsigned i = 0; i < ARRAY_SIZE(q->text); i++)
		hash = hash * 31 + hash_mix(q->text[i], strlen(q->text[i]));
	at = &ix->recent[hash % RECENT_MOST];
	/* Read before the question is asked: a commit in between only ends the life of the answer. */
	for (unsigned i = 0; ix->wal_head && i < WAL_HEAD; i++)
		now.head[i] = __atomic_load_n(ix->wal_head + i, __ATOMIC_ACQUIRE);
	{
		LOCK_SCOPE(&ix->lock);
		const char *answer = answer_of(at, &now, q);

		if (answer && at->r == 0)
			memcpy(out, answer, n);
		if (answer)
			return at->r;
	}
	now.r = ask(&rows, q, out);
	if (ix->wal_head && (now.r == 0 || now.r == -ENOENT))
		keep(ix, at, &now, q, out, now.r == 0 ? n : 0);
	return now.r;
}

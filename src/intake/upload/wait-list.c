/* Waits until the team's bucket has the files of an upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/wait-list.h"
#include "base/clock.h"
#include "base/util.h"
#include "bucket/bucket.h"
#include "store/outbox.h"

#include <errno.h>
#include <string.h>

#define LOOK_MS 500 /* between checks whether the server stops */

static void add_key(struct wait_list *l, const struct key *k)
{
	char **more = realloc(l->keys, (l->n + 1) * sizeof(*more)), room[KEY_TEXT];
	char *text = strdup(key_text(k, room));

	if (more)
		l->keys = more;
	if (more && text)
		more[l->n++] = take(text);
	else
		l->error = l->error ? l->error : -ENOMEM;
	free(text);
}

void wait_list_add_all(struct wait_list *l, struct store *st, const struct intake_report *r)
{
	for (unsigned i = 0; i < r->n_keys; i++) {
		int added = r->what == INTAKE_PRESENT ? store_outbox_add(st, &r->keys[i]) : 0;

		/* Without its queue, which is about to be made anew, the index reports every file as queued. */
		if (added < 0 && added != -ENOTSUP && !l->error)
			l->error = added;
		add_key(l, &r->keys[i]);
	}
}

int wait_list_run(const struct wait_list *l, struct bucket *b, unsigned ms, const atomic_bool *stop)
{
	uint64_t until = clock_ms() + ms;
	struct key k;
	int r = l->error;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		r = key_parse(&k, l->keys[i]) < 0 ? -EINVAL : bucket_wait(b, &k, LOOK_MS);
		while (r == -ETIMEDOUT && clock_ms() < until && !atomic_load(stop))
			r = bucket_wait(b, &k, LOOK_MS);
		if (r == -ETIMEDOUT && atomic_load(stop))
			r = -EINTR;
	}
	return r;
}

void wait_list_release(struct wait_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->keys[i]);
	free(l->keys);
	*l = (struct wait_list){.n = 0};
}

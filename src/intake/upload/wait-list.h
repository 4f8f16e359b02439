/* The keys of an upload, for which its answer waits until the team's bucket has them. One thread at a time. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "intake/intake.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bucket;

/* Zeroed: empty. */
struct wait_list {
	char **keys; /* as text: an archive can have thousands */
	size_t n;
	int error; /* -errno: a key could not be added or queued; the first such error */
};

/* Adds all keys of a part of an upload. Files that were stored before are queued once more: another server may have
 * purged them from the bucket. (waits for the disk) */
void wait_list_add_all(struct wait_list *l, struct store *st, const struct intake_report *r);
/* Waits at most `ms` for all keys. 0; l->error, without a wait; -EINTR: *stop was set. Others: errors of
 * bucket_wait(). (waits) */
int wait_list_run(const struct wait_list *l, struct bucket *b, unsigned ms, const atomic_bool *stop);
void wait_list_release(struct wait_list *l);

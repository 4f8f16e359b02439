/* Files that symfs makes (GSYM), read from a team's bucket, where another server may have put them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "net/net.h"
#include "source/sources.h"
#include "store/store.h"

#include <stdatomic.h>

/* the bucket among these sources; NULL: no bucket is configured */
const struct source *bucket_find(const struct sources *so);

/* Gets the file with this key that was made as `url` says ("MAKER of SHA256"), and writes it to `d`, an empty draft.
 * Checks only that the bytes have the digest by which the bucket names them. `most`: the most bytes; 0: no limit.
 * `reply` is the last answer. 0. -ENOENT: the bucket does not have the file. -EBADMSG: wrong bytes. -EINTR: *stop was
 * set. Others: errors of the transfer, or of the draft. (waits; not on the net thread) */
int bucket_get_made(struct net *net, struct sources *so, const struct key *k, const char *url, uint64_t most,
	struct draft *d, atomic_bool *stop, struct net_reply *reply);

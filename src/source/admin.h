/* 000Admin: the index that symstore.exe keeps beside a symbol store, one text a transaction, with a
 * line for each file that it added:
 *	"foo.pdb\3249D99D0C4049318610F4E4FB0B69361","C:\built\foo.pdb"
 * Only whether a directory NAME/ID is in it can be asked: what is kept are hashes, so it may say yes
 * to what is not there, and never no to what is. Pure; filled by one thread, then constant. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define ADMIN_SEGMENTS_MOST 10000

struct admin_index;

int admin_new(struct admin_index **out);			     /* 0, -ENOMEM */
int admin_copy(struct admin_index **out, const struct admin_index *of); /* 0, -ENOMEM */
struct admin_index *admin_ref(const struct admin_index *ix);	     /* any thread */
void admin_unref(struct admin_index *ix);			     /* any thread; NULL is fine */

/* The next bytes of a transaction. 0, -ENOMEM; -EFBIG: more than an index may hold. */
int admin_feed(struct admin_index *ix, const char *p, size_t n);
/* Its end. False: some lines were malformed, so the index may be incomplete. */
bool admin_end(struct admin_index *ix);

size_t admin_count(const struct admin_index *ix); /* of directories */

/* Whether "NAME/ID/…" is in it; case does not matter. */
bool admin_has(const struct admin_index *ix, const char *path);

/* All that is in it, for admin_load() on the same machine. */
int admin_dump(const struct admin_index *ix, struct buf *out);		      /* 0, -ENOMEM */
int admin_load(struct admin_index **out, const void *p, size_t n);	      /* 0, -ENOMEM, -EINVAL */

/* The number in lastid.txt. 0, -EINVAL: none, or more than ADMIN_SEGMENTS_MOST. */
int admin_lastid(const char *text, size_t n, unsigned *out);

/* Reads 000Admin, the index that symstore.exe keeps in a symbol store: one text file for each transaction,
 * with a line for each file that the transaction added:
 *	"foo.pdb\3249D99D0C4049318610F4E4FB0B69361","C:\built\foo.pdb"
 * In memory, the index is a hash and the letter case of each NAME/ID, and the names with capitals. So
 * admin_has() may be true for a directory that is not in the index, but is never false for a directory in
 * it. One thread fills it; then it is constant. */
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

/* Takes the next bytes of a transaction. 0, -ENOMEM; -EFBIG: more than an index may hold. */
int admin_feed(struct admin_index *ix, const char *p, size_t n);
/* Ends a transaction. False: some lines were malformed, so the index may be incomplete. */
bool admin_end(struct admin_index *ix);

size_t admin_count(const struct admin_index *ix); /* the number of directories */

/* The letter case of an id in the paths of the index. */
enum admin_case {
	ADMIN_AS_LAYOUT, /* no letters, or upper case before lower case, as layouts write ids */
	ADMIN_LOWER,
	ADMIN_UPPER,
	ADMIN_LOWER_UPPER /* lower case before upper case, as SSQP writes ids */
};
/* The letter case (enum admin_case) of the id of "NAME/ID/…" in the index; -ENOENT: the index does not
 * contain that path. */
int admin_case(const struct admin_index *ix, const char *path);
/* A name in the first spelling of the index. NULL: that spelling has no capitals, or the index does not
 * contain the name. The index owns the text. */
const char *admin_name(const struct admin_index *ix, const char *name);
/* Whether the index contains "NAME/ID/…"; case does not matter. */
bool admin_has(const struct admin_index *ix, const char *path);

/* Writes the whole index as bytes, for admin_load() on the same machine. */
int admin_dump(const struct admin_index *ix, struct buf *out);		      /* 0, -ENOMEM */
int admin_load(struct admin_index **out, const void *p, size_t n);	      /* 0, -ENOMEM, -EINVAL */

/* Reads the number in lastid.txt. 0; -EINVAL: no number, or more than ADMIN_SEGMENTS_MOST. */
int admin_lastid(const char *text, size_t n, unsigned *out);

/* The label, a `.key` file beside a blob: a line for each key of the blob. The label is written
 * before the blob appears, and read only when the index is rebuilt or checked. For src/store/, and for the
 * key objects of a bucket (source/bucket-key.h).
 *
 *	v1 TAB KEY TAB SOURCE TAB URL TAB VERIFIED TAB SIZE TAB TIME
 *	t1 TAB TIME
 *	m1 TAB KIND TAB CODE_ID TAB CODE_FILE TAB DEBUG_ID TAB DEBUG_FILE TAB CHECKSUM
 *
 *	p1
 *	w1 TAB WORTH
 *	h1 TAB CLASS TAB AGE TAB LABELS
 *
 * A line `t1` has the time of the file at the origin of the line `v1` before it. A line `m1`, at most one, describes
 * the module in the blob. A line `p1` means that the blob is pinned: the user added or pinned it. A line `w1` has the
 * worth of the file (names/id/worth.h). A line `h1` (hold.h) says after which age without a use a pinned file
 * expires. Versions that do not know a line skip it. Control characters and backslashes are written as \xHH, so a
 * name from outside cannot add a line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "names/id/key.h"
#include "store/files/blob.h"

#define LABEL_MOST (8 << 20) /* bytes: thousands of keys */

struct label_line {
	struct key key;
	struct blob_facts facts;
	uint64_t size;
};

int label_add(struct buf *b, const struct key *k, const struct blob_facts *f, uint64_t size);
/* Reads a line `v1`, and a line `t1` that follows its n bytes. 0, -EINVAL. */
int label_parse(struct label_line *out, const char *line, size_t n);

int label_add_module(struct buf *b, const struct module *m);
/* Reads the module of the label. 0; -ENOENT: the label has no module. */
int label_module(const char *text, struct module *out);

int label_add_pin(struct buf *b);
bool label_is_pinned(const char *text);

int label_add_worth(struct buf *b, const struct worth *w); /* adds nothing if the worth is unknown */
void label_worth(const char *text, struct worth *out);	  /* `out` becomes unknown if the label has no worth */

/* Calls `each` for the lines that can be read, and skips the others. Stops when `each` returns non-zero,
 * and returns that. -ENOMEM. */
int label_each(const char *text, int (*each)(void *ctx, const struct label_line *l), void *ctx);

/* Whether two labels hold the same lines, in any order. */
bool label_same(const char *a, const char *b);

int label_read(int dirfd, const char *sha256, char **out); /* 0, -ENOENT, other -errno */
int label_write(int dirfd, const char *sha256, const struct buf *text); /* writes the label and syncs it */

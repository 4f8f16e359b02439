/* Links and small files that nobody has: they are written from what is known of a file, for both faces
 * of the tree. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch.h"
#include "layout/tree.h"

/* Adds what is told of the file that was found, and the canonical path of that in the mount. `asked`
 * is the candidate that it was found as. Of what is only known to exist there is no .meta. 0, -ENOENT,
 * -ENOMEM, -EFBIG; others: the disk. (may read the file and the index) */
int bundle_write(struct fetch *f, enum tree_told told, const struct artifact *asked,
	const struct fetched *found, struct buf *path, struct buf *text);

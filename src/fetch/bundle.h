/* Links and small files that no source has. symfs writes them from the facts known about a file, for the mount
 * and for HTTP. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch.h"
#include "layout/tree.h"

/* Appends to `text` the link or file about `found`, and to `path` its canonical path in the mount. `asked` is
 * the candidate that was found. 0. -ENOENT: it is the .meta of a file that is not stored yet. -ENOMEM,
 * -EFBIG. Others: errors of the disk. (can read the file and the index) */
int bundle_write(struct fetch *f, enum tree_told told, const struct artifact *asked,
	const struct fetched *found, struct buf *path, struct buf *text);

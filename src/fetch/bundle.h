/* Links and small files that no source has. symfs writes them from the facts known about a file, for the mount
 * and for HTTP. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetch/fetch.h"
#include "names/layout/tree.h"

/* Appends to `text` the link or file about `found`, and to `path` its canonical path in the mount. `asked` is
 * the candidate that was found. 0. -ENOENT: it is the .meta of a file that is not stored yet. -ENOMEM,
 * -EFBIG. Others: errors of the disk. (can read the file and the index) */
int bundle_write(struct fetch *f, enum tree_told told, const struct artifact *asked,
	const struct fetched *found, struct buf *path, struct buf *text);

/* The first lines of every property list in XML. */
#define BUNDLE_PLIST_HEAD                                                                          \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                              \
	"<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "                                  \
	"\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"                                    \
	"<plist version=\"1.0\">\n"

/* Appends a text to a document in XML. Characters that XML cannot have become U+FFFD. 0; -ENOMEM, -EFBIG. */
int bundle_xml(struct buf *out, const char *text);

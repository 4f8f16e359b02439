/* Removes bytes from a team's bucket that no key refers to any more. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "source/sources.h"

#include <stdbool.h>
#include <stdint.h>

#define CLEAR_GRACE 86400 /* seconds: younger objects stay, because an upload may be about to refer to them */

struct cleared {
	uint64_t files, bytes;	   /* all files of the bucket */
	uint64_t references;
	uint64_t removed, removed_bytes; /* with `dry_run`: what would be removed */
	uint64_t young;		   /* files without references that are younger than the grace */
	uint64_t saved;		   /* files that were put back, because an upload now refers to them */
	uint64_t made;		   /* files that symfs made of files that are gone; with `dry_run`: what would end */
	uint64_t probes;	   /* objects of starts that ended before they removed them */
	/* removals of servers that are gone, which could not be ended: marks x/ that are left */
	uint64_t stuck;
	uint64_t requests;
};

/* Compares the listings of the files and of the references, page by page, in constant memory. `each` gets the digest
 * and the size of each removed file; NULL is fine. A mark of a removal that cannot be ended is logged and counted,
 * and the rest goes on. `so` has a bucket that may be written. `grace` in seconds, by the store's clock. Any thread.
 * 0; < 0: an error of the store, and `e` has a text. (waits) */
int bucket_clear(struct sources *so, bool dry_run, int64_t grace,
	void (*each)(void *ctx, const char *sha256, uint64_t size), void *ctx, struct cleared *out, struct err *e);

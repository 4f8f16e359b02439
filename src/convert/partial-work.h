/* gsym_partial() in a worker process: the worker asks for bytes of a PDB, and this process, which never parses
 * them, fetches them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/partial.h"
#include "convert/worker.h"

/* A file that may have holes. Both functions are called on the thread of gsym_work_partial(). */
struct partial_file {
	uint64_t size;
	/* Waits until the ranges are present. 0; -EINTR; -EIO: they will not come. */
	int (*await)(void *ctx, const struct msf_lack *ranges, unsigned n);
	/* Reads bytes of a range that was awaited. 0; -EIO. */
	int (*read)(void *ctx, uint64_t off, void *p, size_t n);
	void *ctx;
};

/* Makes GSYM of at most PARTIAL_ADDRESSES_MOST addresses, as gsym_partial() does, in a worker. Ignores the form in
 * `o`. The caller owns *out, a descriptor of the GSYM. Waits for the worker and for `file`. Returns as gsym_work(),
 * or an error of `file`. */
int gsym_work_partial(const struct gsym_work *o, const struct partial_file *file, const uint32_t *addrs, size_t n,
	int *out, struct err *e);

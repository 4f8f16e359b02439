/* Compresses a stream as one member of gzip (RFC 1952), piece by piece. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct gzip;

/* A function that writes the next bytes to compress to p, at most n. Returns their number; 0: the end;
 * -errno. */
typedef ssize_t gzip_source(void *ctx, void *p, size_t n);

/* Compresses fast rather than small: faster than a network, slower than a disk. Takes about 300 KiB of
 * memory. 0, -ENOMEM. */
int gzip_new(struct gzip **out, gzip_source *source, void *ctx);
void gzip_free(struct gzip *g); /* NULL is fine */

/* Writes the next compressed bytes to p, at most n (not 0). Returns their number; 0: the end; -errno of the
 * source. */
ssize_t gzip_read(struct gzip *g, void *p, size_t n);

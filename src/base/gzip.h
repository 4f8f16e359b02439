/* Bytes packed as one member of gzip (RFC 1952), piece by piece. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct gzip;

/* What is to be packed: up to n further bytes at p. How many; 0: that was all; -errno. */
typedef ssize_t gzip_source(void *ctx, void *p, size_t n);

/* Fast rather than small: a line is slower than this, a disk is not. Takes some 300 KiB. 0, -ENOMEM. */
int gzip_new(struct gzip **out, gzip_source *source, void *ctx);
void gzip_free(struct gzip *g); /* NULL is fine */

/* The next packed bytes, up to n (not 0): how many; 0: the end. -errno of the source. */
ssize_t gzip_read(struct gzip *g, void *p, size_t n);

/* Decompresses deflate data (RFC 1950 to 1952), by zlib. Data in memory, such as members of zip files, is
 * decompressed at once; a stream is decompressed as it arrives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <sys/types.h>
#include <stddef.h>
#include "base/span.h"

/* Inflates `n` bytes of a raw deflate stream to `out`; *made is the number of bytes there. 0; -EFBIG: they do
 * not fit in `room`; -EBADMSG: the stream is broken or ends too soon; -ENOMEM. */
int inflate_raw(const void *p, size_t n, void *out, size_t room, size_t *made);

/* One stream that comes in parts. Not shared between threads. */
struct inflater;
enum inflate_form {
	INFLATE_RAW,
	INFLATE_ZLIB, /* a header of two bytes, and a checksum at the end */
	INFLATE_GZIP  /* one member: a header, and at the end a checksum and a length */
};

int inflater_new(struct inflater **out, enum inflate_form form); /* 0, -ENOMEM */
void inflater_free(struct inflater *z);				 /* NULL is fine */

/* Takes bytes from the front of `in`, and writes to `out`. *n is the room at `out`, and then the number of
 * bytes written. 0: the inflater needs more input, or more room (then all of the room is used). 1: the
 * stream has ended with the right checksum, and the rest of `in` comes after it. -EBADMSG, -ENOMEM. */
int inflater_step(struct inflater *z, struct span *in, void *out, size_t *n);
void inflater_again(struct inflater *z); /* begins another stream of the same form */

/* Continues the CRC-32 of gzip and zip; the first `crc` is 0. */
uint32_t inflate_crc(uint32_t crc, const void *p, size_t n);

/* ---- gzip ---------------------------------------------------------------------------- */

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

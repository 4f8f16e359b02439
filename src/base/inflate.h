/* Decompresses deflate data (RFC 1950 to 1952), by zlib: at once what lies in memory, as members of
 * zip files and embedded debug files do; step by step what arrives as a stream. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"

/* Inflates `n` bytes of a raw deflate stream into `out`; *made is their number. 0; -EFBIG when they
 * do not fit `room`; -EBADMSG when the stream is broken or ends too soon; -ENOMEM. */
int inflate_raw(const void *p, size_t n, void *out, size_t room, size_t *made);

/* One stream that comes in parts. Not shared between threads. */
struct inflater;
enum inflate_form {
	INFLATE_RAW,
	INFLATE_ZLIB, /* a head of two bytes, a checksum behind */
	INFLATE_GZIP  /* one member: its head, and checksum and length behind */
};

int inflater_new(struct inflater **out, enum inflate_form form); /* 0, -ENOMEM */
void inflater_free(struct inflater *z);				 /* NULL is fine */

static inline void cleanup_inflater(struct inflater **z)
{
	inflater_free(*z);
}
#define _cleanup_inflater_ __attribute__((cleanup(cleanup_inflater)))

/* Takes from the front of `in`, which is moved on, and writes to `out`; *n is the room there, and
 * then what was made. 0: it wants more input, or more room (then all of it was used). 1: the stream
 * has ended, its checksum is right, and what is left in `in` lies behind it. -EBADMSG, -ENOMEM. */
int inflater_step(struct inflater *z, struct span *in, void *out, size_t *n);
void inflater_again(struct inflater *z); /* the next stream, of the same form */

/* The CRC-32 of gzip and zip; begins with 0. */
uint32_t inflate_crc(uint32_t crc, const void *p, size_t n);

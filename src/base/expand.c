/* zlib, zstd and xz at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/expand.h"
#include "base/util.h"

#define ZLIB_CONST
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include "base/banned.h"

/* zlib counts in 32 bits. */
#define PIECE (1u << 30)

int expand_zlib(struct span in, uint8_t *out, size_t n)
{
	z_stream z = {.next_in = in.p, .next_out = out};
	size_t left_in = in.n, left_out = n;
	int r;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	do {
		uInt gave = (uInt)MIN(left_in, (size_t)PIECE);
		uInt room = (uInt)MIN(left_out, (size_t)PIECE);

		z.avail_in = gave;
		z.avail_out = room;
		r = inflate(&z, Z_NO_FLUSH);
		left_in -= gave - z.avail_in;
		left_out -= room - z.avail_out;
		if (r == Z_OK && gave == z.avail_in && room == z.avail_out)
			r = Z_BUF_ERROR;
	} while (r == Z_OK);
	inflateEnd(&z);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return r == Z_STREAM_END && !left_out ? 0 : -EBADMSG;
}

int expand_zstd(struct span in, uint8_t *out, size_t n)
{
	return ZSTD_decompress(out, n, in.p, in.n) == n ? 0 : -EBADMSG;
}

/* The largest dictionary that xz makes takes 64 MiB. */
#define XZ_MEMORY (80u << 20)
#define XZ_PIECE (64u << 10)

int expand_xz(struct span in, struct buf *out)
{
	lzma_stream z = LZMA_STREAM_INIT;
	uint8_t *room = malloc(XZ_PIECE);
	lzma_ret s = room ? lzma_stream_decoder(&z, XZ_MEMORY, LZMA_CONCATENATED) : LZMA_MEM_ERROR;
	int r = 0;

	z.next_in = in.p;
	z.avail_in = in.n;
	while (s == LZMA_OK && r == 0) {
		z.next_out = room;
		z.avail_out = XZ_PIECE;
		s = lzma_code(&z, LZMA_FINISH);
		r = buf_add(out, room, XZ_PIECE - z.avail_out);
	}
	lzma_end(&z);
	free(room);
	if (r < 0)
		return r;
	return s == LZMA_STREAM_END ? 0 : s == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Decompresses data that is in memory as a whole: sections of object files (zlib, zstd), .gnu_debugdata (xz). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/expand.h"
#include "base/util.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

int expand_zlib(struct span in, uint8_t *out, size_t n)
{
	uLongf made = n;
	int r = uncompress(out, &made, in.p, in.n);

	return r == Z_MEM_ERROR ? -ENOMEM : r == Z_OK && made == n ? 0 : -EBADMSG;
}

int expand_zstd(struct span in, uint8_t *out, size_t n)
{
	return ZSTD_decompress(out, n, in.p, in.n) == n ? 0 : -EBADMSG;
}

/* A decoder of `xz -9` needs 65 MiB, nearly all of it for the dictionary. */
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

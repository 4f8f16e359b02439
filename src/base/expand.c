/* zlib and zstd at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/expand.h"
#include "base/util.h"

#define ZLIB_CONST
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

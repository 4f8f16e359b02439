/* Decompresses deflate data (raw, or framed as zlib or gzip), and compresses a stream as gzip. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"

#include <limits.h>
#include <stdbool.h>
#define ZLIB_CONST
#include <zlib.h>

struct inflater {
	z_stream z;
};

int inflate_raw(const void *p, size_t n, void *out, size_t room, size_t *made)
{
	z_stream z = {.next_in = p, .next_out = out};
	int r;

	if (n > UINT_MAX || room > UINT_MAX)
		return -EFBIG;
	z.avail_in = (uInt)n;
	z.avail_out = (uInt)room;
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	r = inflate(&z, Z_FINISH);
	*made = room - z.avail_out;
	inflateEnd(&z);
	if (r == Z_STREAM_END)
		return 0;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	/* With a full `out`, the stream may have more bytes, even if zlib also needs more input. */
	return r == Z_BUF_ERROR && !z.avail_out ? -EFBIG : -EBADMSG;
}

int inflater_new(struct inflater **out, enum inflate_form form)
{
	static const int bits[] = {[INFLATE_RAW] = -MAX_WBITS,
		[INFLATE_ZLIB] = MAX_WBITS,
		[INFLATE_GZIP] = 16 + MAX_WBITS};
	_cleanup_free_ struct inflater *z = calloc(1, sizeof(*z));

	if (!z || inflateInit2(&z->z, bits[form]) != Z_OK)
		return -ENOMEM;
	*out = take(z);
	return 0;
}

void inflater_free(struct inflater *z)
{
	if (z)
		inflateEnd(&z->z);
	free(z);
}

int inflater_step(struct inflater *z, struct span *in, void *out, size_t *n)
{
	uInt given = (uInt)MIN(in->n, UINT_MAX), room = (uInt)MIN(*n, UINT_MAX);
	int r;

	z->z.next_in = in->p;
	z->z.avail_in = given;
	z->z.next_out = out;
	z->z.avail_out = room;
	r = inflate(&z->z, Z_NO_FLUSH);
	in->p += given - z->z.avail_in;
	in->n -= given - z->z.avail_in;
	*n = room - z->z.avail_out;
	if (r == Z_STREAM_END)
		return 1;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return r == Z_OK || r == Z_BUF_ERROR ? 0 : -EBADMSG;
}

void inflater_again(struct inflater *z)
{
	inflateReset(&z->z);
}

uint32_t inflate_crc(uint32_t crc, const void *p, size_t n)
{
	return (uint32_t)crc32_z(crc, p, n);
}

/* ---- gzip ---------------------------------------------------------------------------- */

#define LEVEL 1
#define MEMORY 8 /* zlib's default */
#define PIECE (32u << 10)

struct gzip {
	z_stream z;
	gzip_source *source;
	void *ctx;
	bool last, over;
	unsigned char in[PIECE];
};

int gzip_new(struct gzip **out, gzip_source *source, void *ctx)
{
	_cleanup_free_ struct gzip *g = calloc(1, sizeof(*g));

	if (!g || deflateInit2(&g->z, LEVEL, Z_DEFLATED, 16 + MAX_WBITS, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	g->source = source;
	g->ctx = ctx;
	*out = take(g);
	return 0;
}

void gzip_free(struct gzip *g)
{
	if (g)
		deflateEnd(&g->z);
	free(g);
}

static int refill(struct gzip *g)
{
	ssize_t n = g->source(g->ctx, g->in, sizeof(g->in));

	if (n < 0)
		return (int)n;
	g->last = n == 0;
	g->z.next_in = g->in;
	g->z.avail_in = (uInt)n;
	return 0;
}

ssize_t gzip_read(struct gzip *g, void *p, size_t n)
{
	uInt room = (uInt)MIN(n, UINT_MAX);

	g->z.next_out = p;
	g->z.avail_out = room;
	while (!g->over && g->z.avail_out == room) {
		int r = g->z.avail_in || g->last ? 0 : refill(g);

		if (r < 0)
			return r;
		r = deflate(&g->z, g->last ? Z_FINISH : Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return -EIO;
		g->over = r == Z_STREAM_END;
	}
	return (ssize_t)(room - g->z.avail_out);
}

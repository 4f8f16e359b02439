/* Compresses a stream as gzip. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/gzip.h"
#include "base/util.h"

#include <limits.h>
#include <stdbool.h>
#define ZLIB_CONST
#include <zlib.h>

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

/* Unpacks gzip and zlib. The members of a gzip file are the parts of one file, in order (RFC 1952):
 * pigz, bgzip and `cat` write several members. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"
#include "pack/unpack/packing.h"

struct deflate {
	struct inflater *z;
	bool one;     /* zlib: no bytes may follow the stream */
	bool between; /* a member has ended; the next member, zeros or the end follows */
	bool padding; /* zeros followed a member, as on tapes and other media with fixed blocks */
};

static bool gzip_begins(const uint8_t *p, size_t n)
{
	return n >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

/* Accepts a window of 32 KiB, no dictionary, and a correct check over both bytes (RFC 1950). */
static bool zlib_begins(const uint8_t *p, size_t n)
{
	return n >= 2 && p[0] == 0x78 && !(p[1] & 0x20) && (p[0] << 8 | p[1]) % 31 == 0;
}

static int deflate_open(struct unpack *u)
{
	bool gzip = u->packing == &packing_gzip;
	_cleanup_free_ struct deflate *d = calloc(1, sizeof(*d));
	int r = d ? inflater_new(&d->z, gzip ? INFLATE_GZIP : INFLATE_ZLIB) : -ENOMEM;

	if (r < 0)
		return r;
	d->one = !gzip;
	u->state = take(d);
	return 0;
}

static void deflate_close(struct unpack *u)
{
	struct deflate *d = u->state;

	inflater_free(d->z);
	free(d);
}

/* Consumes the zeros after a member. 0: the input ended; 1: the next member begins; -EBADMSG: other bytes
 * follow. */
static int after_member(struct deflate *d, struct span *in, const char *name, struct err *e)
{
	while (in->n && !in->p[0] && !d->one) {
		d->padding = true;
		in->p++;
		in->n--;
	}
	if (!in->n)
		return 0;
	if (d->one || d->padding || in->p[0] != 0x1f)
		return err_set(
			e, -EBADMSG, "is broken: there are bytes after the end of the %s", name);
	inflater_again(d->z);
	return 1;
}

static int member(struct unpack *u, struct deflate *d, struct span *in, struct err *e)
{
	size_t n;
	int r;

	do {
		size_t before = in->n;

		n = sizeof(u->out);
		r = inflater_step(d->z, in, u->out, &n);
		u->taken += before - in->n;
		if (r == -ENOMEM)
			return err_set(e, r, "cannot be unpacked: %s", err_text(r));
		if (r < 0)
			return err_set(
				e, r, "is broken: its %s data are invalid", u->packing->name);
		d->between = r == 1;
		r = unpack_out(u, u->out, n, e);
		if (r != 0)
			return r;
	} while (!d->between && (in->n || n == sizeof(u->out)));
	return 0;
}

static int deflate_feed(struct unpack *u, struct span in, struct err *e)
{
	struct deflate *d = u->state;
	int r = 0;

	while (in.n && r >= 0) {
		r = d->between ? after_member(d, &in, u->packing->name, e) : 1;
		if (r == 1)
			r = member(u, d, &in, e);
		if (r != 0)
			return r;
	}
	u->ended = d->between;
	return 0;
}

const struct packing packing_gzip = {
	.name = "gzip",
	.streams = true,
	.begins = gzip_begins,
	.open = deflate_open,
	.close = deflate_close,
	.feed = deflate_feed,
};

const struct packing packing_zlib = {
	.name = "zlib",
	.streams = true,
	.begins = zlib_begins,
	.open = deflate_open,
	.close = deflate_close,
	.feed = deflate_feed,
};

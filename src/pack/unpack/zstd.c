/* Unpacks zstd. Several frames make up one file, with skippable frames between them, as pzstd writes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pack/unpack/packing.h"

#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG 27	       /* 128 MiB, which `zstd --long` and `--ultra` need */
#define FRAMES_MOST (1u << 20) /* the limit of frames, because each can allocate a window */

struct zstd {
	ZSTD_DStream *z;
	unsigned frames;
};

static bool zstd_begins(const uint8_t *p, size_t n)
{
	if (n < 4)
		return false;
	if (p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd)
		return p[0] == 0x28;
	/* pzstd begins with a skippable frame. */
	return (p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18;
}

static void zstd_close(struct unpack *u)
{
	struct zstd *d = u->state;

	ZSTD_freeDStream(d->z);
	free(d);
}

static int zstd_open(struct unpack *u)
{
	_cleanup_free_ struct zstd *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->z = ZSTD_createDStream();
	if (!d->z || ZSTD_isError(ZSTD_DCtx_setParameter(d->z, ZSTD_d_windowLogMax, WINDOW_LOG))) {
		ZSTD_freeDStream(d->z);
		return -ENOMEM;
	}
	u->state = take(d);
	return 0;
}

static int zstd_error(size_t code, struct err *e)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_memory_allocation:
		return err_set(e, -ENOMEM, "cannot be unpacked: %s", err_text(ENOMEM));
	case ZSTD_error_frameParameter_windowTooLarge:
		return err_set(e, -ENOTSUP, "is zstd with a window of more than %u MiB",
			(1u << WINDOW_LOG) >> 20);
	case ZSTD_error_dictionary_wrong:
		return err_set(e, -ENOTSUP, "is zstd that needs a dictionary");
	default:
		return err_set(e, -EBADMSG, "is broken: zstd: %s", ZSTD_getErrorName(code));
	}
}

static int zstd_feed(struct unpack *u, struct span in, struct err *e)
{
	struct zstd *d = u->state;
	ZSTD_inBuffer from = {.src = in.p, .size = in.n};
	ZSTD_outBuffer to;

	do {
		size_t before = from.pos, left;
		int r;

		to = (ZSTD_outBuffer){.dst = u->out, .size = sizeof(u->out)};
		left = ZSTD_decompressStream(d->z, &to, &from);
		u->taken += from.pos - before;
		if (ZSTD_isError(left))
			return zstd_error(left, e);
		u->ended = left == 0;
		if (u->ended && ++d->frames > FRAMES_MOST)
			return err_set(e, -ENOTSUP, "is zstd of more than %u frames", FRAMES_MOST);
		r = unpack_out(u, u->out, to.pos, e);
		if (r != 0)
			return r;
	} while (from.pos < from.size || (!u->ended && to.pos == to.size));
	return 0;
}

const struct packing packing_zstd = {
	.name = "zstd",
	.streams = true,
	.begins = zstd_begins,
	.open = zstd_open,
	.close = zstd_close,
	.feed = zstd_feed,
};

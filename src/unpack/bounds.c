/* Limits the output of a packed file: its size, and its ratio to the input, against decompression bombs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "unpack/packing.h"

static int too_big(const struct unpack *u, struct err *e)
{
	return err_set(e, -EFBIG, "is %s of more than %llu bytes", u->packing->name,
		(unsigned long long)u->most);
}

static int bomb(const struct unpack *u, struct err *e)
{
	return err_set(e, -EFBIG, "is a decompression bomb: %s that unpacks to more than %u times its size",
		u->packing->name, UNPACK_RATIO);
}

int unpack_out(struct unpack *u, const void *p, size_t n, struct err *e)
{
	int r;

	if (n > u->most - u->made)
		return too_big(u, e);
	if (!u->trusted && u->made + n > UNPACK_FREE && (u->made + n) / UNPACK_RATIO > u->taken)
		return bomb(u, e);
	r = n ? u->write(u->ctx, p, n) : 0;
	if (r != 0)
		return err_set(e, r, "cannot be written: %s", err_text(r));
	u->made += n;
	return 0;
}

int unpack_announced(const struct unpack *u, uint64_t size, uint64_t packed, struct err *e)
{
	if (size > u->most)
		return too_big(u, e);
	return size > UNPACK_FREE && size / UNPACK_RATIO > packed ? bomb(u, e) : 0;
}

/* What packings share: bounds of their output against decompression bombs, and the first bytes of archives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack/unpack/packing.h"
#include "base/inflate.h"
#include "base/util.h"

#include <string.h>

/* ---- bounds ---------------------------------------------------------------------------- */

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

/* ---- the first bytes ---------------------------------------------------------------- */

/* The first bytes of a zip archive's first member, or of a cabinet's first block, from the first bytes of the archive
 * alone. Checksums are not checked here. */

enum method { STORED = 0, MSZIP = 1, DEFLATED = 8 };

static unsigned le16(struct span s, size_t at)
{
	const uint8_t *p = span_at(s, at, 2);

	return p ? p[0] | (unsigned)p[1] << 8 : 0;
}

static size_t le32(struct span s, size_t at)
{
	return le16(s, at) | (size_t)le16(s, at + 2) << 16;
}

static size_t inflate_some(struct span in, uint8_t *out, size_t room)
{
	struct inflater *z;
	size_t n = room;

	if (inflater_new(&z, INFLATE_RAW) < 0)
		return 0;
	if (inflater_step(z, &in, out, &n) < 0)
		n = 0;
	inflater_free(z);
	return n;
}

static size_t peek_at(struct span head, size_t at, enum method m, uint8_t *out, size_t room)
{
	struct span in = {head.p + MIN(at, head.n), head.n - MIN(at, head.n)};

	if (m == DEFLATED)
		return inflate_some(in, out, room);
	if (m != STORED)
		return 0;
	memcpy(out, in.p, MIN(in.n, room));
	return MIN(in.n, room);
}

size_t zip_peek(struct span head, uint8_t *out, size_t room)
{
	size_t at = 30u + le16(head, 26) + le16(head, 28);

	return head.n < 30 ? 0 : peek_at(head, at, le16(head, 8), out, room);
}

/* A flag of the fixed head says that the cabinet reserves room in its head, its folders and its data
 * blocks. If a cabinet continues in other cabinet files, its head has their names, too; such
 * cabinets are not unpacked. */
size_t cab_peek(struct span head, uint8_t *out, size_t room)
{
	unsigned flags = le16(head, 30), method;
	size_t folder = 36, block, spare = 0;
	const uint8_t *sizes;

	if (flags & 3)
		return 0;
	if (flags & 4) {
		sizes = span_at(head, 36, 4);
		if (!sizes)
			return 0;
		folder = 40u + le16(head, 36);
		spare = sizes[3];
	}
	if (!span_at(head, folder, 8))
		return 0;
	block = le32(head, folder);
	method = le16(head, folder + 6);
	if (method > MSZIP || !span_at(head, block, 8 + spare + 2))
		return 0;
	block += 8 + spare;
	if (method == STORED)
		return peek_at(head, block, STORED, out, room);
	return memcmp(head.p + block, "CK", 2) == 0 ? peek_at(head, block + 2, DEFLATED, out, room)
						    : 0;
}

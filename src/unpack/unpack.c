/* Recognizes packed files by their first bytes, unpacks them within bounds, and names the unpacked files: the table
 * of packings, and what all packings share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"
#include "unpack/packing.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct packing *const packings[] = {
	&packing_gzip, &packing_zstd, &packing_cab, &packing_zip, &packing_zlib};

const struct packing *packing_of(const void *head, size_t n)
{
	for (unsigned i = 0; i < ARRAY_SIZE(packings); i++)
		if (packings[i]->begins(head, n))
			return packings[i];
	return NULL;
}

const char *packing_name(const struct packing *p)
{
	return p->name;
}

int unpack_new(
	struct unpack **out, const struct packing *p, uint64_t most, unpack_write *write, void *ctx)
{
	_cleanup_free_ struct unpack *u = malloc(sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	memset(u, 0, offsetof(struct unpack, in));
	u->packing = p;
	u->most = most;
	u->write = write;
	u->ctx = ctx;
	r = p->open ? p->open(u) : 0;
	if (r == 0)
		*out = take(u);
	return r;
}

void unpack_trust(struct unpack *u)
{
	u->trusted = true;
}

void unpack_free(struct unpack *u)
{
	if (u && u->packing->close)
		u->packing->close(u);
	free(u);
}

uint64_t unpack_made(const struct unpack *u)
{
	return u->made;
}

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

/* ---- unpacking ----------------------------------------------------------------------- */

static int wait_for(struct view *v, uint64_t at)
{
	v->want_off = at;
	v->want_len = v->size == VIEW_UNKNOWN ? 1 : v->size - at;
	return -EAGAIN;
}

static int stream_more(struct unpack *u, struct view *v, struct err *e)
{
	while (u->at < v->have) {
		size_t n = (size_t)MIN(sizeof(u->in), v->have - u->at);
		int r = view_read(v, u->at, u->in, n);

		if (r < 0)
			return err_set(e, r, "cannot be read: %s", err_text(r));
		r = u->packing->feed(u, (struct span){u->in, n}, e);
		if (r != 0)
			return r;
		u->at += n;
	}
	if (v->have != v->size)
		return wait_for(v, u->at);
	return u->ended ? 0 : err_set(e, -EBADMSG, "is %s, cut short", u->packing->name);
}

int unpack_more(struct unpack *u, struct view *v, struct err *e)
{
	if (u->packing->streams)
		return stream_more(u, v, e);
	return v->have == v->size ? u->packing->whole(u, v, e) : wait_for(v, v->have);
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

struct peek {
	uint8_t *p;
	size_t n, room;
};

static int peek_write(void *ctx, const void *p, size_t n)
{
	struct peek *peek = ctx;

	n = MIN(n, peek->room - peek->n);
	memcpy(peek->p + peek->n, p, n);
	peek->n += n;
	return peek->n == peek->room ? -ECANCELED : 0;
}

size_t unpack_peek(const struct packing *p, const void *head, size_t n, void *out, size_t room)
{
	struct peek peek = {.p = out, .room = room};
	_cleanup_unpack_ struct unpack *u = NULL;
	struct view v = view_of_mem(head, n);
	struct err e;

	v.size = VIEW_UNKNOWN;
	if (!p->streams)
		return p->peek ? p->peek((struct span){head, n}, out, room) : 0;
	if (unpack_new(&u, p, UINT64_MAX, peek_write, &peek) < 0)
		return 0;
	return unpack_more(u, &v, &e) == -EBADMSG ? 0 : peek.n;
}

/* ---- names ----------------------------------------------------------------------------- */

/* Finds the path component before the component at `p`. Returns its length. */
static size_t component_before(const char *path, const char *p, const char **start)
{
	const char *end;

	while (p > path && p[-1] == '/')
		p--;
	end = p;
	while (p > path && p[-1] != '/')
		p--;
	*start = p;
	return (size_t)(end - p);
}

/* The directory that names the file in a symbol store; NULL: there is none. In `foo.pdb/IDENTIFIER/foo.pd_`
 * the directory's name has the missing last letter. */
static const char *name_of_store(const char *path, const char *name)
{
	const char *p;
	size_t n = strlen(name);

	component_before(path, name, &p);
	return component_before(path, p, &p) == n && strncasecmp(p, name, n - 1) == 0 ? p : NULL;
}

void unpack_name(const char *path, char *out, size_t room)
{
	static const struct {
		const char *from, *to;
	} ends[] = {{".pd_", ".pdb"}, {".ex_", ".exe"}, {".dl_", ".dll"}, {".sy_", ".sys"}, {".gz", ""},
		{".zst", ""}, {".xz", ""}, {".bz2", ""}, {".cab", ""}};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *whole = NULL;
	size_t n = strlen(name);

	if (n && name[n - 1] == '_')
		whole = name_of_store(path, name);
	snprintf(out, room, "%.*s", (int)n, whole ? whole : name);
	for (size_t i = 0; !whole && i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i].from);

		if (n > end && strcasecmp(name + n - end, ends[i].from) == 0)
			snprintf(out, room, "%.*s%s", (int)(n - end), name, ends[i].to);
	}
}

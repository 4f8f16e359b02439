/* Recognizes packed files by their first bytes, and unpacks them: the table of packings. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "unpack/packing.h"

#include <string.h>

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

/* Recognizes packed files by their first bytes, unpacks them, and names the unpacked files: the table of packings. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "pack/unpack/packing.h"

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

/* The directory that names the file in a symbol store; NULL: the path has no such directory. In
 * `foo.pdb/IDENTIFIER/foo.pd_` the directory's name has the missing last letter. */
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

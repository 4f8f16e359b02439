/* Reads from files that may be incomplete. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/view.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct view view_of_fd(int fd, uint64_t size)
{
	return (struct view){.fd = fd, .size = size, .have = size};
}

struct view view_of_mem(const void *p, size_t n)
{
	return (struct view){.fd = -1, .mem = p, .size = n, .have = n};
}

struct view view_of_stream(int fd, uint64_t have, uint64_t size)
{
	return (struct view){.fd = fd, .size = size, .have = have};
}

struct view view_of_holes(int fd, uint64_t size,
	bool (*has)(const void *ctx, uint64_t off, uint64_t n), const void *ctx)
{
	return (struct view){.fd = fd, .size = size, .have = size, .has = has, .ctx = ctx};
}

bool view_holds(const struct view *v, uint64_t off, uint64_t n)
{
	if (off > UINT64_MAX - n)
		return false;
	return v->size == VIEW_UNKNOWN || off + n <= v->size;
}

int pread_all(int fd, uint64_t off, void *p, size_t n)
{
	while (n) {
		ssize_t r = pread(fd, p, n, (off_t)off);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			return -ENODATA;
		p = (char *)p + r;
		off += (size_t)r;
		n -= (size_t)r;
	}
	return 0;
}

int view_want(struct view *v, uint64_t off, uint64_t n)
{
	v->want_off = off;
	v->want_len = n;
	return -EAGAIN;
}

int view_whole(struct view *v)
{
	if (v->have == v->size)
		return 0;
	return view_want(v, v->have, v->size == VIEW_UNKNOWN ? 1 : v->size - v->have);
}

int view_need(struct view *v, uint64_t off, uint64_t n)
{
	if (!view_holds(v, off, n))
		return -ENODATA;
	/* An empty read never waits. */
	if (n && (off + n > v->have || (v->has && !v->has(v->ctx, v->base + off, n))))
		return view_want(v, off, n);
	return 0;
}

int view_read(struct view *v, uint64_t off, void *p, size_t n)
{
	int r = view_need(v, off, n);

	if (r < 0)
		return r;
	if (v->fd >= 0)
		return pread_all(v->fd, v->base + off, p, n);
	if (n)
		memcpy(p, v->mem + v->base + off, n);
	return 0;
}

const uint8_t *view_at(const struct view *v, uint64_t off, size_t n)
{
	if (v->fd >= 0 || !view_holds(v, off, n) || off + n > v->have ||
		(v->has && !v->has(v->ctx, v->base + off, n)))
		return NULL;
	return v->mem + v->base + off;
}

int view_slice(const struct view *v, uint64_t off, uint64_t size, struct view *out)
{
	if (!view_holds(v, off, size))
		return -ENODATA;
	*out = *v;
	out->base = v->base + off;
	out->size = size;
	out->have = v->have <= off ? 0 : v->have - off;
	if (out->have > size)
		out->have = size;
	return 0;
}

/* A growing buffer of bytes with an upper bound. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int buf_reserve(struct buf *b, size_t more)
{
	size_t need, room;
	char *p;

	if (b->r < 0)
		return b->r;
	if (more > b->most || b->n > b->most - more)
		return b->r = -EFBIG;
	need = b->n + more + 1;
	if (need <= b->room)
		return 0;
	room = b->room ? b->room : 64;
	while (room < need)
		room *= 2;
	p = realloc(b->p, room);
	if (!p)
		return b->r = -ENOMEM;
	b->p = p;
	b->room = room;
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	int r = buf_fits(b, n) ? 0 : buf_reserve(b, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
	return 0;
}

int buf_adds(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	if (b->r < 0)
		return b->r;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return b->r = -EINVAL;
	r = buf_reserve(b, (size_t)n);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
	return 0;
}

const char *buf_text(const struct buf *b)
{
	return b->p ? b->p : "";
}

char *buf_take(struct buf *b, size_t *n)
{
	char *p = b->p ? b->p : strdup("");

	if (n)
		*n = b->n;
	b->p = NULL;
	b->n = b->room = 0;
	b->r = 0;
	return p;
}

void buf_cut(struct buf *b, size_t n)
{
	b->n = n;
	b->r = 0;
	if (b->p)
		b->p[n] = '\0';
}

void buf_clear(struct buf *b)
{
	buf_cut(b, 0);
}

void buf_release(struct buf *b)
{
	free(b->p);
	*b = (struct buf){.most = b->most};
}

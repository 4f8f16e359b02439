/* A growing buffer of bytes, always NUL-terminated, never longer than `most`. It keeps its first error, which every
 * later call returns: a caller that adds several texts checks the last call only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *p; /* NULL until the first byte; buf_text() is never NULL */
	size_t n, room, most;
	int r; /* the first error, until buf_cut() or buf_clear() */
};

#define BUF_UP_TO(limit) ((struct buf){.most = (limit)})

/* Makes room for n more bytes and the NUL at b->p + b->n, for a caller that writes there. 0, -ENOMEM, -EFBIG. */
int buf_reserve(struct buf *b, size_t n);
/* Whether n more bytes fit without buf_reserve(). */
static inline bool buf_fits(const struct buf *b, size_t n)
{
	return b->r == 0 && b->p && n < b->room - b->n && n <= b->most - b->n;
}

int buf_add(struct buf *b, const void *p, size_t n); /* 0, -ENOMEM, -EFBIG past b->most */
int buf_adds(struct buf *b, const char *text);
int buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *buf_text(const struct buf *b);
char *buf_take(struct buf *b, size_t *n); /* free() it; NULL: out of memory */
void buf_cut(struct buf *b, size_t n);	  /* shortens the text to n bytes, and forgets the error */
void buf_clear(struct buf *b);		  /* empties the buffer, but keeps its memory */
void buf_release(struct buf *b);
#define _cleanup_buf_ __attribute__((cleanup(buf_release)))

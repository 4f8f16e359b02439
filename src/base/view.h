/* Reads a file that may be incomplete: a whole file, a download that still grows, a sparse file. Readers of
 * formats (formats/obj/) get every byte through view_read(), so a hole never reads as zeros and no read is out of
 * bounds. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VIEW_UNKNOWN UINT64_MAX

struct view {
	int fd;			/* read with pread(); -1: the bytes are in `mem` */
	const uint8_t *mem;
	uint64_t base;		/* where this view begins in the file (a slice of a fat file) */
	uint64_t size;		/* of the whole file; VIEW_UNKNOWN: not known yet */
	uint64_t have;		/* bytes from the start that are present */
	/* For a sparse file: whether the n bytes at `off` are present. NULL for other files. */
	bool (*has)(const void *ctx, uint64_t off, uint64_t n);
	const void *ctx;
	uint64_t want_off, want_len;	/* after -EAGAIN: the missing range */
};

/* A complete file. The descriptor stays the caller's. */
struct view view_of_fd(int fd, uint64_t size);
struct view view_of_mem(const void *p, size_t n);

/* A stream of which the first `have` bytes are in `fd`; `size` may be VIEW_UNKNOWN. */
struct view view_of_stream(int fd, uint64_t have, uint64_t size);

/* A sparse file; has() reports whether bytes are present. */
struct view view_of_holes(int fd, uint64_t size,
	bool (*has)(const void *ctx, uint64_t off, uint64_t n), const void *ctx);

/* 0: `n` bytes at `off` are in `p`. -EAGAIN: not present yet, see want_off and want_len.
 * -ENODATA: they lie past the end. -EIO and other errors: the disk failed. After any error, the bytes at
 * `p` are unspecified. */
int view_read(struct view *v, uint64_t off, void *p, size_t n);

/* Whether n bytes at `off` are present. 0; -EAGAIN and -ENODATA as in view_read(). */
int view_need(struct view *v, uint64_t off, uint64_t n);

/* Reads n bytes of a file. 0; -ENODATA: the file is shorter; other -errno. */
int pread_all(int fd, uint64_t off, void *p, size_t n);

/* Returns the bytes in place, if the view is of memory and they are present; else NULL: call view_read(). */
const uint8_t *view_at(const struct view *v, uint64_t off, size_t n);

/* Part of a view, with its own offsets from 0. -ENODATA: the part reaches past the end. */
int view_slice(const struct view *v, uint64_t off, uint64_t size, struct view *out);

/* Notes the missing range. -EAGAIN. */
int view_want(struct view *v, uint64_t off, uint64_t n);
/* Whether all bytes of the file are present. 0; -EAGAIN. */
int view_whole(struct view *v);

/* Whether `n` bytes at `off` lie inside the whole file; true while its size is unknown. */
bool view_holds(const struct view *v, uint64_t off, uint64_t n);

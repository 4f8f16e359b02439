/* Zip archives, read through a view: the directory at the end, and one member at a time. Bytes in
 * front of the archive are allowed, whether the archive's offsets count these bytes or not. Every function
 * may return -EAGAIN, as views do, and -EBADMSG with a text in `e`. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#define ZIP_NAME_MAX 512

struct zip {
	struct view *v;
	uint64_t shift;	   /* to be added to the archive's offsets */
	uint64_t at, end;  /* of the directory: the offsets of its next entry and of its end */
	uint64_t left;	   /* entries that are still to come */
};

struct zip_entry {
	char name[ZIP_NAME_MAX]; /* "": the name is longer, or contains a NUL */
	uint64_t at;		 /* the offset of the member's own header */
	uint64_t packed, size;
	int64_t time; /* seconds since 1970; 0: unknown. A time that is not of Unix is off by its zone */
	uint32_t crc; /* of the unpacked bytes */
	unsigned method;
	bool encrypted, link; /* `link`: a symbolic link, whose bytes are its target */
};

/* -ENOMSG: there is no directory at the end of the file. */
int zip_open(struct zip *z, struct view *v, struct err *e);

/* Reads the next entry. -ENOENT: there are no more. */
int zip_next(struct zip *z, struct zip_entry *out, struct err *e);

/* Finds where the packed bytes of a member begin; all of them lie inside the archive. */
int zip_member(struct zip *z, const struct zip_entry *entry, uint64_t *at, struct err *e);

/* Unpacks a member; the caller frees *out. -EFBIG: it has more than `most` bytes. -ENOTSUP: encrypted, or
 * packed by another method than deflate. */
int zip_extract(struct zip *z, const struct zip_entry *entry, size_t most, char **out, size_t *n,
	struct err *e);

/* A member of any size, unpacked as a stream. At the end of the stream, -EBADMSG means that the size or
 * checksum of the member differs from the entry's; then the caller must not use the bytes that it read
 * before. */
struct zip_stream;
int zip_stream_open(struct zip_stream **out, struct zip *z, const struct zip_entry *entry,
	struct err *e); /* -ENOTSUP as zip_extract() */
/* *n is the room at `p`, and then the number of bytes read: 0 only at the end. After an error, -EAGAIN too,
 * the stream cannot continue. */
int zip_stream_read(struct zip_stream *s, void *p, size_t *n, struct err *e);
void zip_stream_close(struct zip_stream *s); /* NULL is fine */

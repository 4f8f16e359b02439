/* Zip archives, read through a view: the directory at the end, and one member at a time. Bytes in
 * front of the archive are allowed, whether its offsets count them or not. Every function may
 * answer -EAGAIN, as views do, and -EBADMSG with words in `e`. Not shared between threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"

#define ZIP_NAME_MAX 512

struct zip {
	struct view *v;
	uint64_t shift;	   /* what must be added to the archive's offsets */
	uint64_t at, end;  /* of the directory: the next entry, and where it ends */
	uint64_t left;	   /* entries that are still to come */
};

struct zip_entry {
	char name[ZIP_NAME_MAX]; /* "" when it is longer, or has a zero in it */
	uint64_t at;		 /* the member's own header */
	uint64_t packed, size;
	uint32_t crc; /* of the bytes unpacked */
	unsigned method;
	bool encrypted;
};

/* -ENOMSG: there is no directory at the end of the file. */
int zip_open(struct zip *z, struct view *v, struct err *e);

/* The next entry; -ENOENT behind the last. */
int zip_next(struct zip *z, struct zip_entry *out, struct err *e);

/* Where the packed bytes of a member begin; all of them lie inside the archive. */
int zip_member(struct zip *z, const struct zip_entry *entry, uint64_t *at, struct err *e);

/* All bytes of a member, yours to free(). -EFBIG: it has more than `most`. -ENOTSUP: encrypted, or
 * packed by another method than deflate. */
int zip_extract(struct zip *z, const struct zip_entry *entry, size_t most, char **out, size_t *n,
	struct err *e);

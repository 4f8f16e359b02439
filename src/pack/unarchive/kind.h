/* Recognizes archives by their first bytes. Keeps no state; any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct view;

enum archive_kind {
	ARCHIVE_NONE,
	ARCHIVE_ZIP,
	ARCHIVE_TAR,
	ARCHIVE_PACKED_TAR, /* a tar packed by gzip or zstd */
	ARCHIVE_PACKED,	    /* packed by xz or bzip2: a tar, or a single file */
	ARCHIVE_7Z,
	ARCHIVE_DEB,
	ARCHIVE_RPM
};

/* The first bytes that archive_kind() needs, or all of a shorter file. A block of zstd, which is unpacked as a whole,
 * can have 128 KiB. */
#define ARCHIVE_HEAD (160u << 10)

/* The kind of a file that begins with the n bytes of `head`. */
enum archive_kind archive_kind(const uint8_t *head, size_t n);
/* The kind of a file, by its first KiB. Of a compressed file it reads ARCHIVE_HEAD bytes, because the content decides
 * the kind. 0; -ENOMEM, errors of view_read(). */
int archive_kind_of(struct view *v, enum archive_kind *out);

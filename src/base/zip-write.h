/* Writes the headers of a zip archive whose members are stored, not compressed. The caller puts them around the bytes
 * of the members:
 *
 *	for each member: zip_write_head(), its bytes, zip_write_tail()
 *	for each member: zip_write_entry()
 *	zip_write_end()
 *
 * Members and archives of more than 4 GiB get the fields of zip64. All functions append to `out`, and return 0,
 * -ENOMEM or -EFBIG. Plain values, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct zip_stored {
	const char *name; /* in UTF-8, with slashes; at most 65535 bytes */
	uint64_t size, at; /* bytes of the member; the offset of its head in the archive */
	uint32_t crc;	   /* inflate_crc() of all bytes */
	bool crc_after;	   /* the checksum is not known before the bytes: the tail has it */
};

int zip_write_head(struct buf *out, const struct zip_stored *m);
int zip_write_tail(struct buf *out, const struct zip_stored *m); /* appends nothing without crc_after */
int zip_write_entry(struct buf *out, const struct zip_stored *m);
int zip_write_end(struct buf *out, unsigned members, uint64_t at, uint64_t size); /* of the entries together */

/* Writes the headers of zip archives with stored members. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/zip-write.h"
#include "base/util.h"

#include <errno.h>
#include <string.h>

#define LARGE UINT32_MAX /* of sizes and offsets: an extra field of zip64 has the value */
#define AFTER (1u << 3)	 /* flags: the checksum and the sizes follow the member */
#define UTF8 (1u << 11)	 /* flags: the name is in UTF-8 */
#define PLAIN 20	 /* the version that a reader needs */
#define ZIP64 45
#define UNIX_FILE (3u << 8) /* the system of the attributes, before a version */
#define DAY_ONE 0x21	 /* 1 January 1980: the same bytes make the same archive */

/* Appends a number of `bytes` bytes. */
static void put(struct buf *out, uint64_t value, unsigned bytes)
{
	uint8_t p[8];

	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(value >> 8 * i);
	buf_add(out, p, bytes);
}

struct field {
	uint64_t value;
	unsigned bytes; /* 0 ends a list */
};

static void put_all(struct buf *out, const struct field *f)
{
	for (; f->bytes; f++)
		put(out, f->value, f->bytes);
}

static bool is_large(const struct zip_stored *m)
{
	return m->size >= LARGE;
}

static unsigned flags_of(const struct zip_stored *m)
{
	return UTF8 | (m->crc_after ? AFTER : 0);
}

int zip_write_head(struct buf *out, const struct zip_stored *m)
{
	bool large = is_large(m), after = m->crc_after;
	uint64_t size = large ? LARGE : after ? 0 : m->size;
	size_t n = strlen(m->name);
	const struct field head[] = {
		{0x04034b50, 4}, {large ? ZIP64 : PLAIN, 2}, {flags_of(m), 2}, {0, 2}, {0, 2}, {DAY_ONE, 2},
		{after ? 0 : m->crc, 4}, {size, 4}, {size, 4}, {n, 2}, {large ? 20 : 0, 2}, {0}};
	const struct field extra[] = {{1, 2}, {16, 2}, {after ? 0 : m->size, 8}, {after ? 0 : m->size, 8}, {0}};

	if (n > UINT16_MAX)
		return out->r = -EFBIG; /* the buffer keeps it */
	put_all(out, head);
	buf_add(out, m->name, n);
	if (large)
		put_all(out, extra);
	return out->r;
}

int zip_write_tail(struct buf *out, const struct zip_stored *m)
{
	unsigned bytes = is_large(m) ? 8 : 4;
	const struct field tail[] = {{0x08074b50, 4}, {m->crc, 4}, {m->size, bytes}, {m->size, bytes}, {0}};

	if (m->crc_after)
		put_all(out, tail);
	return out->r;
}

int zip_write_entry(struct buf *out, const struct zip_stored *m)
{
	bool large = is_large(m), far = m->at >= LARGE;
	size_t n = strlen(m->name), extra = (large ? 16 : 0) + (far ? 8 : 0);
	uint64_t size = large ? LARGE : m->size;
	unsigned version = large || far ? ZIP64 : PLAIN;
	const struct field entry[] = {
		{0x02014b50, 4}, {UNIX_FILE | version, 2}, {version, 2}, {flags_of(m), 2}, {0, 2}, {0, 2},
		{DAY_ONE, 2}, {m->crc, 4}, {size, 4}, {size, 4}, {n, 2}, {extra ? extra + 4 : 0, 2}, {0, 2}, {0, 2},
		{0, 2}, {0100644u << 16, 4}, {far ? LARGE : m->at, 4}, {0}};

	if (n > UINT16_MAX)
		return out->r = -EFBIG; /* the buffer keeps it */
	put_all(out, entry);
	buf_add(out, m->name, n);
	if (extra)
		put_all(out, (const struct field[]){{1, 2}, {extra, 2}, {0}});
	if (large)
		put_all(out, (const struct field[]){{m->size, 8}, {m->size, 8}, {0}});
	if (far)
		put(out, m->at, 8);
	return out->r;
}

int zip_write_end(struct buf *out, unsigned members, uint64_t at, uint64_t size)
{
	const struct field large[] = {
		{0x06064b50, 4}, {44, 8}, {UNIX_FILE | ZIP64, 2}, {ZIP64, 2}, {0, 4}, {0, 4}, {members, 8},
		{members, 8}, {size, 8}, {at, 8},
		{0x07064b50, 4}, {0, 4}, {at + size, 8}, {1, 4}, {0}};
	const struct field end[] = {
		{0x06054b50, 4}, {0, 2}, {0, 2}, {members, 2}, {members, 2}, {size, 4},
		{at >= LARGE ? LARGE : at, 4}, {0, 2}, {0}};

	if (members >= UINT16_MAX || size >= LARGE)
		return out->r = -EFBIG; /* the buffer keeps it */
	if (at >= LARGE)
		put_all(out, large);
	put_all(out, end);
	return out->r;
}

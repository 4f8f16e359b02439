/* Finds types, ids and file names of a PDB by their numbers, without reading all of them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "pdb/pdb-private.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE 56
#define VERSION 20040203u
#define MARK_SIZE 8
#define HASH_SIZE 4
#define STEP (8u << 10)		/* bytes to read at once while searching records */
#define NAME_STEP 128u
#define NAME_MOST (64u << 10)
#define NAMES_HEADER 12
#define NAMES_MAGIC 0xeffeeffeu

/* ---- types and ids ------------------------------------------------------------------------ */

/* Reads the marks: about every 8 KiB, a mark gives the number and the offset of a record. */
static int read_marks(struct pdb *p, struct msf_io *io, struct pdb_records *out, uint32_t stream, uint32_t off,
	uint32_t n, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	n /= MARK_SIZE;
	if (off > msf_size(&p->msf, stream) || n > (msf_size(&p->msf, stream) - off) / MARK_SIZE)
		return 0; /* records are then searched from the beginning */
	r = msf_load(&p->msf, io, stream, off, (size_t)n * MARK_SIZE, &bytes, "its index of types", e);
	if (r < 0)
		return r;
	out->marks = calloc((size_t)n + 1, sizeof(*out->marks));
	if (!out->marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = le32(bytes + (size_t)i * MARK_SIZE), at = le32(bytes + (size_t)i * MARK_SIZE + 4);

		if (number < out->begin || at >= out->size ||
			(i && number <= out->marks[out->n_marks - 1].number))
			break;
		out->marks[i].number = number;
		out->marks[i].off = at;
		out->n_marks = i + 1;
	}
	return 0;
}

int pdb_read_records(struct pdb *p, struct msf_io *io, struct pdb_records *out, uint32_t stream, struct err *e)
{
	uint32_t size = msf_size(&p->msf, stream);
	uint8_t h[HEADER_SIZE];
	int r;

	if (size < sizeof(h))
		return 0;
	r = msf_read(&p->msf, io, stream, 0, h, sizeof(h), "its types", e);
	if (r < 0)
		return r;
	out->header = le32(h + 4);
	out->begin = le32(h + 8);
	out->end = le32(h + 12);
	out->size = le32(h + 16);
	out->stream = stream;
	if (le32(h) != VERSION || out->header < sizeof(h) || out->header > size || out->size > size - out->header ||
		out->end < out->begin) {
		*out = (struct pdb_records){0}; /* names then have no parameters */
		return 0;
	}
	if (le32(h + 24) == HASH_SIZE && le32(h + 36) >= out->end - out->begin) {
		out->hashes = le16(h + 20);
		out->hashes_at = le32(h + 32);
		out->buckets = le32(h + 28);
	}
	return read_marks(p, io, out, le16(h + 20), le32(h + 40), le32(h + 44), e);
}

/* Finds the last mark at or before the number, or else the first record. */
static void start_at(const struct pdb_records *from, uint32_t number, uint32_t *at_number, uint32_t *at)
{
	uint32_t a = 0, b = from->n_marks;

	*at_number = from->begin;
	*at = 0;
	while (a < b) {
		uint32_t mid = a + (b - a) / 2;

		if (from->marks[mid].number <= number)
			a = mid + 1;
		else
			b = mid;
	}
	if (a) {
		*at_number = from->marks[a - 1].number;
		*at = from->marks[a - 1].off;
	}
}

/* Reads bytes from `at` on, more than are needed now. */
static int read_window(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t at,
	uint8_t *window, uint32_t *n, struct err *e)
{
	*n = MIN(STEP, from->size - at);
	return msf_read(&p->msf, io, from->stream, from->header + at, window, *n, "its types", e);
}

/* Reads the length of the record at `at`. False: there is no record, or it is broken. */
static bool record_in(struct span window, uint32_t at, uint32_t size, uint32_t *len)
{
	const uint8_t *h = span_at(window, 0, 2);

	*len = h ? le16(h) : 0;
	return h && *len >= 2 && *len <= size - at - 2;
}

/* Goes from record `i`, which begins at *at, forward to record `number`. */
static int walk_to(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t i, uint32_t number,
	uint32_t *at, uint32_t *len, struct err *e)
{
	uint8_t window[STEP];
	uint32_t base = 0, have = 0;

	for (;; i++, *at += 2 + *len) {
		if (*at >= from->size || from->size - *at < 4)
			return -ENOENT;
		if (!from->bytes && (!have || *at - base + 4 > have)) {
			int r = read_window(p, io, from, *at, window, &have, e);

			if (r < 0)
				return r;
			base = *at;
		}
		if (!record_in((struct span){from->bytes ? from->bytes + *at : window + (*at - base), 4}, *at,
			    from->size, len))
			return -ENOENT;
		if (i == number)
			return 0;
	}
}

int pdb_record(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out, struct err *e)
{
	uint32_t i, at, len = 0;
	const uint8_t *bytes;
	int r;

	*out = (struct pdb_record){0};
	if (number < from->begin || number >= from->end)
		return -ENOENT;
	start_at(from, number, &i, &at);
	r = walk_to(p, io, from, i, number, &at, &len, e);
	if (r == 0 && !from->bytes)
		r = msf_load(&p->msf, io, from->stream, from->header + at + 2, len, &out->bytes, "a type", e);
	if (r < 0)
		return r;
	bytes = from->bytes ? from->bytes + at + 2 : out->bytes;
	out->leaf = (uint16_t)le16(bytes);
	out->body = (struct span){bytes + 2, len - 2};
	return 0;
}

void pdb_record_release(struct pdb_record *r)
{
	free(take(r->bytes));
}

/* ---- names of files ----------------------------------------------------------------------- */

int pdb_name(const struct pdb *p, struct msf_io *io, uint32_t number, struct buf *out, struct err *e)
{
	uint32_t size = msf_size(&p->msf, p->names), at = NAMES_HEADER + number;
	size_t before = out->n;

	if (p->name_bytes && at < size) {
		const uint8_t *end = memchr(p->name_bytes + at, 0, size - at);

		return end ? buf_add(out, p->name_bytes + at, (size_t)(end - p->name_bytes) - at) : -EBADMSG;
	}
	if (!p->names || size < NAMES_HEADER || number >= size - NAMES_HEADER)
		return -EBADMSG;
	while (out->n - before < NAME_MOST && at < size) {
		char text[NAME_STEP];
		uint32_t n = MIN(NAME_STEP, size - at);
		int r = msf_read(&p->msf, io, p->names, at, text, n, "its file names", e);
		const char *end;

		if (r < 0)
			return r;
		end = memchr(text, 0, n);
		r = buf_add(out, text, end ? (size_t)(end - text) : n);
		if (r < 0 || end)
			return r;
		at += n;
	}
	return -EBADMSG;
}

int pdb_load_texts(struct pdb *p, struct msf_io *io, struct err *e)
{
	struct pdb_records *both[] = {&p->types, &p->ids};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(both); i++)
		r = msf_load(&p->msf, io, both[i]->stream, both[i]->header, both[i]->size, &both[i]->bytes,
			"its types", e);
	if (r == 0)
		r = msf_load(&p->msf, io, p->names, 0, p->names ? msf_size(&p->msf, p->names) : 0, &p->name_bytes,
			"its file names", e);
	return r;
}

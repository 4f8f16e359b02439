/* Finds types, ids and file names of a PDB by their numbers, without reading all of them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/pdb-private.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_SIZE 56
#define VERSION 20040203u
#define MARK_SIZE 8
#define HASH_SIZE 4
#define STEP (8u << 10)		/* bytes to read at once while searching records */
#define IN_PLACE 256u /* bytes to use at once in memory: few, because they must lie in one piece there */
#define NAME_STEP 128u
#define NAME_MOST (64u << 10)
#define NAMES_HEADER 12

/* The most records to pass in search of one. The marks of linkers are closer to each other. */
#define WALK_MOST 4096u

/* ---- types and ids ------------------------------------------------------------------------ */

static int index_records(const struct pdb *p, struct msf_io *io, struct pdb_records *all, struct err *e);

/* Reads the marks: about every 8 KiB, a mark gives the number and the offset of a record. */
static int read_marks(struct pdb *p, struct msf_io *io, struct pdb_records *out, uint32_t stream, uint32_t off,
	uint32_t n, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	n /= MARK_SIZE;
	if (off > msf_size(&p->msf, stream) || n > (msf_size(&p->msf, stream) - off) / MARK_SIZE)
		return 0; /* the caller then indexes all records */
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
	r = read_marks(p, io, out, le16(h + 20), le32(h + 40), le32(h + 44), e);
	return r < 0 || out->n_marks ? r : index_records(p, io, out, e);
}

/* Finds the last record up to `number` whose offset is known, from the index or else from the marks. */
static void start_at(const struct pdb_records *from, uint32_t number, uint32_t *at_number, uint32_t *at)
{
	uint32_t a, step = (number - from->begin) / PDB_STEP;

	*at_number = from->begin;
	*at = 0;
	if (step < from->n_steps) {
		*at_number += step * PDB_STEP;
		*at = from->steps[step];
		return;
	}
	a = (uint32_t)search_first(i, 0, from->n_marks, from->marks[i].number <= number);
	if (a) {
		*at_number = from->marks[a - 1].number;
		*at = from->marks[a - 1].off;
	}
}

/* The bytes around the record that is being read. */
struct window {
	uint32_t at, n;
	const uint8_t *p; /* points into the file, or to `copy` */
	uint8_t copy[STEP];
};

/* Reads the length of the record at `at`. 0; -ENOENT: the record is broken; errors of msf_read(). */
static int read_length(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t at,
	struct window *w, uint32_t *len, struct err *e)
{
	if (at < w->at || at - w->at + 2 > w->n) {
		int r = 0;

		w->at = at;
		w->n = MIN(IN_PLACE, from->size - at);
		w->p = msf_bytes(&p->msf, io, from->stream, from->header + at, w->n);
		if (!w->p) {
			w->n = MIN(STEP, from->size - at);
			r = msf_read(&p->msf, io, from->stream, from->header + at, w->copy, w->n, "its types", e);
		}
		if (r < 0) {
			w->n = 0;
			return r;
		}
		w->p = w->p ? w->p : w->copy;
	}
	*len = le16(w->p + (at - w->at));
	return *len >= 2 && *len <= from->size - at - 2 ? 0 : -ENOENT;
}

/* Goes from record `i`, which begins at *at, forward to record `number`. */
static int walk_to(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t i,
	uint32_t number, uint32_t *at, uint32_t *len, struct window *w, struct err *e)
{
	uint32_t first = i;

	for (w->at = w->n = 0;; i++, *at += 2 + *len) {
		int r = i - first < WALK_MOST && *at < from->size && from->size - *at >= 4
				? read_length(p, io, from, *at, w, len, e)
				: -ENOENT;

		if (r < 0 || i == number)
			return r;
	}
}

int pdb_record(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out, struct err *e)
{
	uint32_t i, at, len = 0;
	const uint8_t *bytes = NULL;
	struct window w;
	int r;

	*out = (struct pdb_record){0};
	if (number < from->begin || number >= from->end)
		return -ENOENT;
	start_at(from, number, &i, &at);
	r = walk_to(p, io, from, i, number, &at, &len, &w, e);
	if (r == 0 && w.p != w.copy && at - w.at + 2 + len <= w.n)
		bytes = w.p + (at - w.at) + 2;
	else if (r == 0)
		r = msf_borrow(&p->msf, io, from->stream, from->header + at + 2, len, &bytes, &out->bytes, "a type",
			e);
	if (r < 0)
		return r;
	out->leaf = (uint16_t)le16(bytes);
	out->body = (struct span){bytes + 2, len - 2};
	return 0;
}

/* ---- names of files ----------------------------------------------------------------------- */

/* A number must be that of the first byte of a name: otherwise a file of a few bytes could have many long names. */
int pdb_name(const struct pdb *p, struct msf_io *io, uint32_t number, struct buf *out, struct err *e)
{
	uint32_t size = msf_size(&p->msf, p->names), at = NAMES_HEADER + number;
	size_t before = out->n;
	uint8_t front = 0;
	int r = 0;

	if (p->name_bytes && number < size && at < size) {
		const uint8_t *end = number && p->name_bytes[at - 1] ? NULL
			: memchr(p->name_bytes + at, 0, size - at);

		return end ? buf_add(out, p->name_bytes + at, (size_t)(end - p->name_bytes) - at) : -EBADMSG;
	}
	if (!p->names || size < NAMES_HEADER || number >= size - NAMES_HEADER)
		return -EBADMSG;
	if (number)
		r = msf_read(&p->msf, io, p->names, at - 1, &front, 1, "its file names", e);
	if (r < 0 || front)
		return r < 0 ? r : -EBADMSG;
	while (out->n - before < NAME_MOST && at < size) {
		char text[NAME_STEP];
		uint32_t n = MIN(NAME_STEP, size - at);
		const char *end;

		r = msf_read(&p->msf, io, p->names, at, text, n, "its file names", e);
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

/* ---- the index ---------------------------------------------------------------------------- */

/* Indexes the records up to the first broken record. Only marks lead to the records after that. */
static int index_records(const struct pdb *p, struct msf_io *io, struct pdb_records *all, struct err *e)
{
	uint32_t most = MIN(all->end - all->begin, all->size / 4), at = 0, len = 0;
	struct window w;
	int r = 0;

	if (all->steps)
		return 0;
	w.at = w.n = 0;
	all->steps = malloc(((size_t)most / PDB_STEP + 1) * sizeof(*all->steps));
	if (!all->steps)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; r == 0 && i < most && all->size - at >= 4; i++, at += 2 + len) {
		r = read_length(p, io, all, at, &w, &len, e);
		if (r == 0 && i % PDB_STEP == 0)
			all->steps[all->n_steps++] = at;
	}
	return r == -ENOENT ? 0 : r;
}

int pdb_index_texts(struct pdb *p, struct msf_io *io, struct err *e)
{
	int r = index_records(p, io, &p->types, e);

	if (r == 0)
		r = index_records(p, io, &p->ids, e);
	if (r == 0 && p->names)
		r = msf_borrow(&p->msf, io, p->names, 0, msf_size(&p->msf, p->names), &p->name_bytes, &p->name_copy,
			"its file names", e);
	return r;
}

/* Finds the source files that are embedded in a Portable PDB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/compressed.h"
#include "base/inflate.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/obj/ppdb.h"

#include <stdlib.h>
#include <string.h>

#define DOCUMENTS_MOST (1u << 20) /* documents whose names are compared */
#define TAG_DOCUMENT 22 /* in the parent column of custom debug information, above five bits of which are the row */
#define RATIO_MOST 1100 /* deflate never makes more bytes of one */

static const uint8_t kind_embedded[16] = {0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4,
	0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe};

struct tables {
	struct ppdb_places at;
	struct span file, blobs;
};

bool ppdb_blob(struct span heap, uint32_t at, struct span *out)
{
	uint32_t n;

	*out = (struct span){heap.p, 0};
	if (!at)
		return true;
	if (at >= heap.n)
		return false;
	*out = (struct span){heap.p + at, heap.n - at};
	if (!take_compressed(out, &n) || n > out->n)
		return false;
	out->n = n;
	return true;
}

int ppdb_document_name(struct span heap, struct span name, struct buf *out)
{
	char separator;
	uint32_t at;
	bool first = true;
	int e = 0;

	if (!name.n)
		return 0;
	separator = (char)name.p[0];
	if (name.p[0] >= 0x80)
		return -EBADMSG;
	name.p++;
	name.n--;
	while (e == 0 && name.n) {
		struct span part;

		if (!take_compressed(&name, &at) || !ppdb_blob(heap, at, &part))
			return -EBADMSG;
		if (!first && separator)
			e = buf_add(out, &separator, 1);
		if (e == 0)
			e = buf_add(out, part.p, part.n);
		first = false;
	}
	return e == -EFBIG ? -EBADMSG : e;
}

/* A comparison of a path, "/REST", with a name that comes in pieces. A name without a leading separator has one in
 * the path, and backslashes are slashes. */
struct comparison {
	const char *rest; /* the part of the path that was not compared yet */
	bool begun;	  /* a character was compared */
};

/* Compares the next piece. False: it differs. */
static bool compare_piece(struct comparison *c, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char want = p[i] == '\\' ? '/' : (char)p[i];

		if (!c->begun && want != '/' && *c->rest == '/')
			c->rest++;
		c->begun = true;
		if (!want || *c->rest != want)
			return false;
		c->rest++;
	}
	return true;
}

/* Whether the name of a document, a blob, is the path. Stops at the first difference: many rows of a hostile file may
 * share one long name. A path of N characters has at most N + 1 parts, so empty parts do not prolong the comparison.
 * 1, 0, -EBADMSG. */
static int is_path(struct span heap, struct span name, const char *path)
{
	struct comparison c = {.rest = path};
	size_t most = strlen(path) + 1;
	uint8_t separator;

	if (!name.n)
		return 0;
	separator = *name.p;
	if (separator >= 0x80)
		return -EBADMSG;
	name = (struct span){name.p + 1, name.n - 1};
	for (size_t i = 0; name.n; i++) {
		struct span part;
		uint32_t at;

		if (i == most)
			return 0;
		if (!take_compressed(&name, &at) || !ppdb_blob(heap, at, &part))
			return -EBADMSG;
		if (i && separator && !compare_piece(&c, &separator, 1))
			return 0;
		if (!compare_piece(&c, part.p, part.n))
			return 0;
	}
	return !*c.rest;
}

/* The row of the document, from 1; 0: there is none. -EBADMSG. -EFBIG: there are too many documents. */
static int64_t find_document(const struct tables *t, const char *path)
{
	for (uint32_t i = 0; i < MIN(t->at.n_documents, DOCUMENTS_MOST); i++) {
		const uint8_t *p = span_at(t->file, t->at.documents + (uint64_t)i * t->at.document_row,
			t->at.document_row);
		struct span blob;
		int r = p && ppdb_blob(t->blobs, ppdb_index(p, t->at.blob), &blob)
			? is_path(t->blobs, blob, path) : -EBADMSG;

		if (r != 0)
			return r < 0 ? r : (int64_t)i + 1;
	}
	return t->at.n_documents > DOCUMENTS_MOST ? -EFBIG : 0;
}

static bool is_embedded(const struct tables *t, uint32_t guid)
{
	const uint8_t *kind = guid && guid <= t->at.guids_size / 16
		? span_at(t->file, t->at.guids + (uint64_t)(guid - 1) * 16, 16) : NULL;

	return kind && memcmp(kind, kind_embedded, 16) == 0;
}

/* The blob with the source of a document. -ENOENT: it is not embedded. */
static int find_blob(const struct tables *t, uint32_t document, struct span *out)
{
	for (uint32_t i = 0; i < t->at.n_custom; i++) {
		const uint8_t *p = span_at(t->file, t->at.custom + (uint64_t)i * t->at.custom_row, t->at.custom_row);
		uint32_t parent = p ? ppdb_index(p, t->at.parent) : 0;

		if (!p)
			return -EBADMSG;
		if ((parent & 31) != TAG_DOCUMENT || parent >> 5 != document ||
			!is_embedded(t, ppdb_index(p + t->at.parent, t->at.guid)))
			continue;
		return ppdb_blob(t->blobs, ppdb_index(p + t->at.parent + t->at.guid, t->at.blob), out) ? 0 : -EBADMSG;
	}
	return -ENOENT;
}

/* A number of bytes, and the deflated source; 0: the source follows as it is. */
static int unpack(struct span blob, size_t most, char **out, size_t *n)
{
	const uint8_t *h = span_at(blob, 0, 4);
	size_t size = h ? le32(h) : 0, packed = h ? blob.n - 4 : 0, made = 0;
	_cleanup_free_ char *room = NULL;
	int r = 0;

	if (!h || size > INT32_MAX)
		return -EBADMSG;
	if (MAX(size, packed) > most || size / RATIO_MOST > packed)
		return -EFBIG;
	room = malloc(MAX(size ? size : packed, 1u));
	if (!room)
		return -ENOMEM;
	if (size) {
		r = inflate_raw(h + 4, packed, room, size, &made);
	} else {
		memcpy(room, h + 4, packed);
		made = packed;
	}
	if (r < 0 || (size && made != size))
		return r == -ENOMEM ? r : -EBADMSG;
	*out = take(room);
	*n = made;
	return 0;
}

int ppdb_source(struct span file, const char *path, size_t most, char **out, size_t *n, struct err *e)
{
	struct view v = view_of_mem(file.p, file.n);
	struct tables t = {.file = file};
	struct span blob;
	int64_t document;
	int r = ppdb_find_places(&v, &t.at, e);

	if (r < 0)
		return r;
	t.blobs = (struct span){span_at(file, t.at.blobs, t.at.blobs_size), t.at.blobs_size};
	if (!t.blobs.p)
		t.blobs.n = 0;
	document = find_document(&t, path);
	r = document < 0 ? (int)document : document == 0 ? -ENOENT : find_blob(&t, (uint32_t)document, &blob);
	if (r == 0)
		r = unpack(blob, most, out, n);
	if (r < 0)
		err_set(e, r, "%s", r == -ENOENT ? "has no such source" : "has a source that cannot be unpacked");
	return r;
}

/* Reads the documents and sequence points of Portable PDBs, and the names of methods in their programs.
 * formats/obj/ppdb.c reads the file's identity. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/from-ppdb.h"
#include "base/compressed.h"
#include "base/inflate.h"
#include "base/little.h"
#include "base/util.h"
#include "base/view.h"
#include "derive/convert/method-names.h"
#include "formats/image/image.h"
#include "formats/obj/ppdb.h"

#include <string.h>

#define NAME_MOST (64u << 10)
#define EMBEDDED_MOST (512u << 20)
/* The line number of a hidden sequence point, where no debugger stops. */
#define HIDDEN 0xfeefee

struct reader {
	struct gsym_writer *w;
	struct ppdb_places at;
	const uint8_t *file;
	struct span blobs, guids;
	uint32_t *files; /* the writer's number of a document, by the document's row, from 1; 0: not added yet */
	uint32_t no_name;
	struct method_names *names; /* NULL: unknown */
	struct buf name;
};

/* The mark that eliot_name() takes away, so that a name of a method never counts as a mark. */
#define MARK "\1" "0 "

/* ---- numbers ------------------------------------------------------------------------ */

/* Takes a compressed signed number. Its lowest bit is the sign, which extends to the width of the encoding. */
static bool take_int(struct span *s, int64_t *out)
{
	size_t before = s->n;
	uint32_t v;

	if (!take_compressed(s, &v))
		return false;
	*out = v >> 1;
	if (v & 1) {
		size_t bytes = before - s->n;

		*out -= bytes == 1 ? 1 << 6 : bytes == 2 ? 1 << 13 : 1 << 28;
	}
	return true;
}

/* ---- documents ---------------------------------------------------------------------- */

/* The language of a document; "": it is unknown. `at` is an index into the GUIDs, from 1. */
static const char *language_of(const struct reader *r, uint32_t at)
{
	static const struct {
		uint8_t guid[16];
		const char *name;
	} rows[] = {
		{{0xf8, 0x62, 0x51, 0x3f, 0xc6, 0x07, 0xd3, 0x11, 0x90, 0x53, 0, 0xc0, 0x4f, 0xa3, 0x02, 0xa1}, "C#"},
		{{0xb8, 0xd0, 0x12, 0x3a, 0x6c, 0xc2, 0xd0, 0x11, 0xb4, 0x42, 0, 0xa0, 0x24, 0x4a, 0x1d, 0xd2},
			"Visual Basic"},
		{{0xc9, 0x38, 0x4f, 0xab, 0xe6, 0xb6, 0xba, 0x43, 0xbe, 0x3b, 0x58, 0x08, 0x0b, 0x2c, 0xcc, 0xe3},
			"F#"},
		{{0xd3, 0x6c, 0x04, 0xaf, 0xe1, 0xd0, 0xd2, 0x11, 0x97, 0x7c, 0, 0xa0, 0xc9, 0xb4, 0xd5, 0x0c}, "IL"},
	};
	const uint8_t *guid = at ? span_at(r->guids, (size_t)(at - 1) * 16, 16) : NULL;

	for (size_t i = 0; guid && i < ARRAY_SIZE(rows); i++)
		if (memcmp(guid, rows[i].guid, 16) == 0)
			return rows[i].name;
	return "";
}

/* Adds a document as a file, with its language in the place of a directory. */
static int read_document(struct reader *r, uint32_t row, uint32_t *out)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(NAME_MOST);
	const uint8_t *p = r->file + r->at.documents + (uint64_t)(row - 1) * r->at.document_row;
	const char *language = language_of(r, ppdb_index(p + 2 * r->at.blob + r->at.guid, r->at.guid));
	struct span blob;
	uint32_t place;
	int e = ppdb_blob(r->blobs, ppdb_index(p, r->at.blob), &blob) ? ppdb_document_name(r->blobs, blob, &name)
		: -EBADMSG;

	if (e < 0)
		return e;
	place = gsym_text(r->w, language, strlen(language));
	*out = gsym_add_file(r->w, place, gsym_text(r->w, buf_text(&name), name.n));
	return 0;
}

static int file_of(struct reader *r, uint32_t row, uint32_t *out)
{
	int e = 0;

	if (!row || row > r->at.n_documents)
		return -EBADMSG;
	if (!r->files[row])
		e = read_document(r, row, &r->files[row]);
	*out = r->files[row];
	return e;
}

/* ---- points ------------------------------------------------------------------------- */

struct point {
	uint64_t il;
	int64_t line, column;
	bool first, plain; /* no point was read yet; no point with a line was read yet */
};

/* Takes the lines and columns of a point. 1: the point has a line. 0: the point is hidden. */
static int take_lines(struct span *s, struct point *p)
{
	uint32_t lines, columns, line, column;
	int64_t more_columns, more_line, more_column;

	if (!take_compressed(s, &lines))
		return -EBADMSG;
	if (!lines) {
		if (!take_compressed(s, &columns))
			return -EBADMSG;
		more_columns = columns;
	} else if (!take_int(s, &more_columns)) {
		return -EBADMSG;
	}
	if (!lines && !more_columns)
		return 0;
	if (p->plain) {
		if (!take_compressed(s, &line) || !take_compressed(s, &column))
			return -EBADMSG;
		p->line = line;
		p->column = column;
		p->plain = false;
	} else {
		if (!take_int(s, &more_line) || !take_int(s, &more_column))
			return -EBADMSG;
		p->line += more_line;
		p->column += more_column;
	}
	return p->line >= 0 && p->line <= UINT32_MAX ? 1 : -EBADMSG;
}

static int tell_points(struct reader *r, uint32_t method, uint32_t document, struct span s)
{
	struct point p = {.first = true, .plain = true};
	uint32_t skipped, more, file = 0;
	int e;

	if (!take_compressed(&s, &skipped)) /* the signature of the local variables */
		return -EBADMSG;
	if (!document && !take_compressed(&s, &document))
		return -EBADMSG;
	e = file_of(r, document, &file);
	while (e == 0 && s.n) {
		if (!take_compressed(&s, &more))
			return -EBADMSG;
		if (!more && !p.first) {
			e = take_compressed(&s, &document) ? file_of(r, document, &file) : -EBADMSG;
			continue;
		}
		p.il += more;
		p.first = false;
		if (p.il > UINT32_MAX)
			return -EBADMSG;
		e = take_lines(&s, &p);
		if (e == 1 && p.line != HIDDEN)
			gsym_add_row(r->w, PPDB_METHOD(method) + p.il, file, (uint32_t)p.line);
		e = MIN(e, 0);
	}
	return e;
}

/* Begins a method with its name. The caller begins methods in the order of their rows. */
static int begin_method(struct reader *r, uint32_t method)
{
	_cleanup_buf_ struct buf marked = BUF_UP_TO(NAME_MOST + sizeof(MARK));
	uint32_t name = r->no_name;
	int e = r->names ? method_names_next(r->names, method, &r->name) : 0;

	if (e == 0 && r->name.n) {
		buf_adds(&marked, MARK);
		e = buf_add(&marked, r->name.p, r->name.n);
		name = gsym_text(r->w, buf_text(&marked), marked.n);
	}
	gsym_begin(r->w, PPDB_METHOD(method), UINT32_MAX, name, GSYM_DEBUG);
	return e;
}

/* Adds a method without lines, if it has a name. */
static int tell_name(struct reader *r, uint32_t method)
{
	int e = r->names ? begin_method(r, method) : 0;

	if (e == 0 && r->names && r->name.n)
		gsym_end(r->w);
	return e;
}

static int tell_method(struct reader *r, uint32_t method)
{
	unsigned size = r->at.method_row - r->at.blob; /* of the index of a document */
	const uint8_t *p = r->file + r->at.methods + (uint64_t)(method - 1) * r->at.method_row;
	uint32_t at = ppdb_index(p + size, r->at.blob);
	struct span blob;
	int e;

	if (!at)
		return tell_name(r, method);
	if (!ppdb_blob(r->blobs, at, &blob))
		return -EBADMSG;
	if (!blob.n)
		return tell_name(r, method);
	e = begin_method(r, method);
	if (e == 0)
		e = tell_points(r, method, ppdb_index(p, size), blob);
	if (e == 0)
		gsym_end(r->w);
	return e;
}

/* ---- the file ----------------------------------------------------------------------- */

/* Adds all methods of the PDB and of the program. Either may be missing. */
static int tell_methods(struct reader *r, struct err *e)
{
	uint32_t n_names = r->names ? method_names_count(r->names) : 0;
	int n = 0;

	r->no_name = gsym_text(r->w, MARK, sizeof(MARK) - 1);
	r->name = BUF_UP_TO(NAME_MOST);
	gsym_set_base(r->w, 0);
	for (uint32_t i = 1; n == 0 && i <= MAX(r->at.n_methods, n_names); i++) {
		n = i <= r->at.n_methods ? tell_method(r, i) : tell_name(r, i);
		if (n == -EBADMSG)
			err_set(e, n, "is broken: the lines of method %u", i);
	}
	buf_release(&r->name);
	n = n < 0 ? n : gsym_error(r->w);
	return n < 0 && n != -EBADMSG ? err_set(e, n, "%s", err_text(n)) : n;
}

static int tell_file(struct gsym_writer *w, struct span file, struct method_names *names, struct err *e)
{
	struct reader r = {.w = w, .names = names, .file = file.p};
	struct view v = view_of_mem(file.p, file.n);
	int n = ppdb_find_places(&v, &r.at, e);

	if (n < 0)
		return n;
	r.blobs = (struct span){file.p + r.at.blobs, r.at.blobs_size};
	r.guids = (struct span){file.p + r.at.guids, r.at.guids_size};
	r.files = calloc((size_t)r.at.n_documents + 1, sizeof(*r.files));
	n = r.files ? tell_methods(&r, e) : err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	free(r.files);
	return n;
}

/* ---- inside of a program ------------------------------------------------------------ */

#define DEBUG_ENTRY 28
#define DEBUG_EMBEDDED 17
#define DIRECTORY_DEBUG 6
#define DIRECTORY_RUNTIME 14
#define RUNTIME_LEAST 16 /* bytes of the runtime's header up to the place of the metadata */

/* Opens the names of the program's methods. -ENODATA, -EBADMSG: the program has none, or they are broken. */
static int open_names(struct method_names **out, const struct image *m, struct err *e)
{
	struct span header = image_directory(m, DIRECTORY_RUNTIME), metadata = {0};
	struct image_section last = {0};

	*out = NULL;
	if (header.n >= RUNTIME_LEAST) {
		metadata = image_at(m, &last, le32(header.p + 8));
		metadata.n = MIN(metadata.n, le32(header.p + 12));
	}
	if (!metadata.n)
		return err_set(e, -ENODATA, "is not a program of .NET");
	return method_names_open(out, metadata, e);
}

static int tell_embedded(struct gsym_writer *w, struct span packed, struct method_names *names, struct err *e)
{
	const uint8_t *h = span_at(packed, 0, 8);
	_cleanup_free_ uint8_t *room = NULL;
	size_t size = h ? le32(h + 4) : 0, made = 0;
	int r;

	if (!h || memcmp(h, "MPDB", 4) != 0)
		return err_set(e, -EBADMSG, "is broken: its embedded debug file has no header");
	if (size > EMBEDDED_MOST || size / 1000 > packed.n)
		return err_set(e, -EFBIG, "has an embedded debug file of %zu bytes", size);
	room = malloc(size ? size : 1);
	r = room ? inflate_raw(packed.p + 8, packed.n - 8, room, size, &made) : -ENOMEM;
	if (r == 0 && made != size)
		r = -EBADMSG;
	if (r < 0)
		return err_set(e, r, "has an embedded debug file that cannot be unpacked");
	return tell_file(w, (struct span){room, size}, names, e);
}

/* Adds the methods with the lines of the PDB in the program, or else with their names alone. */
static int tell_with_names(struct gsym_writer *w, const struct image *m, struct method_names *names, struct err *e)
{
	struct reader r = {.w = w, .names = names};
	struct span entries = image_directory(m, DIRECTORY_DEBUG);

	for (size_t at = 0; entries.n - at >= DEBUG_ENTRY; at += DEBUG_ENTRY) {
		const uint8_t *d = entries.p + at;
		struct span packed = {NULL, le32(d + 16)};

		if (le32(d + 12) != DEBUG_EMBEDDED)
			continue;
		packed.p = span_at(m->file, le32(d + 24), packed.n);
		if (!packed.p)
			return err_set(e, -EBADMSG, "is broken: its embedded debug file lies outside of it");
		return tell_embedded(w, packed, names, e);
	}
	return names ? tell_methods(&r, e)
		     : err_set(e, -ENODATA, "has neither an embedded debug file nor names of methods");
}

static int tell_program(struct gsym_writer *w, struct span file, struct err *e)
{
	struct method_names *names;
	struct image m;
	int r;

	if (image_open(&m, file, NULL) < 0)
		m = (struct image){.file = file}; /* it has no directories */
	r = open_names(&names, &m, e);
	if (r == 0 || r == -ENODATA || r == -EBADMSG)
		r = tell_with_names(w, &m, names, e);
	method_names_free(names);
	return r;
}

bool ppdb_is(struct span file)
{
	return file.n >= 4 && (memcmp(file.p, "BSJB", 4) == 0 || memcmp(file.p, "MZ", 2) == 0);
}

int gsym_from_ppdb(struct gsym_writer *w, struct span file, struct err *e)
{
	return memcmp(file.p, "MZ", 2) == 0 ? tell_program(w, file, e) : tell_file(w, file, NULL, e);
}

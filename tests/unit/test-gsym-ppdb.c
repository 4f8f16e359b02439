/* Tests derive/convert/from-ppdb.c: method and offset to document and line, for files built here byte by
 * byte and, where present, for files of other tools. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-ppdb.h"
#include "derive/convert/make.h"
#include "unit.h"

#include <dirent.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define HIDDEN 0xfeefee

struct made {
	struct buf bytes;
	struct gsym g;
	struct gsym_hit hit;
};

static int make(struct made *m, struct span file, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {.eliot = true};
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	m->bytes = BUF_UP_TO(64u << 20);
	if (r == 0)
		r = gsym_make(w, file, &o, &made, e);
	if (r == 0)
		r = gsym_write(w, GSYM_V1, false, NULL, &m->bytes, NULL, e);
	if (r == 0)
		r = gsym_open(&m->g, (struct span){(const uint8_t *)m->bytes.p, m->bytes.n}, e);
	return r;
}

static void release(struct made *m)
{
	buf_release(&m->bytes);
}

/* "DOCUMENT:LINE", "" where no line is known. */
static const char *look(struct made *m, uint32_t method, uint32_t il)
{
	static char text[4096];
	const struct gsym_frame *f = &m->hit.frame[0];
	int64_t more;

	if (gsym_lookup(&m->g, PPDB_METHOD(method) | il, &m->hit, NULL) < 0)
		return "";
	ck_assert_uint_eq(m->hit.n, 1);
	ck_assert_str_eq(eliot_name(f->name, &more), "");
	if (!eliot_file(f->dir, f->base))
		return "";
	snprintf(text, sizeof(text), "%s:%u", f->base, f->line);
	return text;
}

/* ---- a file that is built here ------------------------------------------------------- */

struct bytes {
	uint8_t p[4096];
	size_t n;
};

static void add(struct bytes *b, const void *p, size_t n)
{
	ck_assert_uint_le(b->n + n, sizeof(b->p));
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void add_number(struct bytes *b, uint64_t v, unsigned n)
{
	for (; n--; v >>= 8)
		add(b, &(uint8_t){(uint8_t)v}, 1);
}

static uint32_t add_blob(struct bytes *heap, const void *p, uint8_t n)
{
	uint32_t at = (uint32_t)heap->n;

	add(heap, &n, 1);
	add(heap, p, n);
	return at;
}

static void add_stream(struct bytes *b, size_t *at, const char *name, size_t off, size_t size)
{
	uint8_t room[32] = {0};
	size_t n = (strlen(name) + 4) & ~(size_t)3;

	memcpy(room, name, strlen(name));
	for (unsigned i = 0; i < 4; i++) {
		b->p[*at + i] = (uint8_t)(off >> 8 * i);
		b->p[*at + 4 + i] = (uint8_t)(size >> 8 * i);
	}
	memcpy(b->p + *at + 8, room, n);
	*at += 8 + n;
}

/* C#, as Roslyn writes it, and a language without a name. */
static const uint8_t guids[32] =
	"\xf8\x62\x51\x3f\xc6\x07\xd3\x11\x90\x53\x00\xc0\x4f\xa3\x02\xa1" "a language here";

/* Two documents, "/src/a.cs" in C# and "b.cs" in another language, and methods with these points. */
static void build(struct bytes *out, const struct bytes *points, const uint32_t *documents, unsigned methods)
{
	struct bytes heap = {.n = 1}, tables = {0};
	uint32_t parts[3], names[2], blob[16];
	size_t at, body, tables_at;

	parts[0] = add_blob(&heap, "src", 3);
	parts[1] = add_blob(&heap, "a.cs", 4);
	parts[2] = add_blob(&heap, "b.cs", 4);
	names[0] = add_blob(&heap, ((uint8_t[]){'/', 0, (uint8_t)parts[0], (uint8_t)parts[1]}), 4);
	names[1] = add_blob(&heap, ((uint8_t[]){0, (uint8_t)parts[2]}), 2);
	for (unsigned i = 0; i < methods; i++)
		blob[i] = points[i].n ? add_blob(&heap, points[i].p, (uint8_t)points[i].n) : 0;

	add_number(&tables, 0, 4);
	add_number(&tables, 0x01000002, 4);
	add_number(&tables, 1ull << 0x30 | 1ull << 0x31, 8);
	add_number(&tables, 0, 8);
	add_number(&tables, 2, 4);
	add_number(&tables, methods, 4);
	for (unsigned i = 0; i < 2; i++) {
		add_number(&tables, names[i], 2);
		add_number(&tables, 0, 4);
		add_number(&tables, i + 1, 2);
	}
	for (unsigned i = 0; i < methods; i++) {
		add_number(&tables, documents[i], 2);
		add_number(&tables, blob[i], 2);
	}

	out->n = 0;
	add(out, "BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0PDB v1.0\0\0\0\0\0\0\4", 32);
	at = out->n;
	add_number(out, 0, 8 + 4 + 8 + 8 + 8 + 8 + 8 + 8); /* the list of four streams */
	body = out->n;
	add_number(out, 0, 32); /* the identity, and no rows of the program */
	tables_at = out->n;
	add(out, tables.p, tables.n);
	add(out, heap.p, heap.n);
	add(out, guids, sizeof(guids));
	add_stream(out, &at, "#Pdb", body, 32);
	add_stream(out, &at, "#~", tables_at, tables.n);
	add_stream(out, &at, "#Blob", tables_at + tables.n, heap.n);
	add_stream(out, &at, "#GUID", tables_at + tables.n + heap.n, sizeof(guids));
	ck_assert_uint_eq(at, body);
}

#define POINTS(...) {.p = {__VA_ARGS__}, .n = sizeof((uint8_t[]){__VA_ARGS__})}

static const struct bytes own_points[] = {
	/* 0 -> 10, 2 -> 12, 5 hidden, 7 -> 11 (one line back) */
	POINTS(0, /**/ 0, 0, 9, 10, 5, /**/ 2, 0, 3, 4, 0, /**/ 3, 0, 0, /**/ 2, 0, 8, 0x7f, 0),
	{.n = 0}, /* no points */
	/* the document is told here; it changes behind 4 */
	POINTS(0, 1, /**/ 4, 1, 4, 20, 1, /**/ 0, 2, /**/ 6, 0, 7, 10, 0),
	/* a hidden point comes first; numbers of two and four bytes */
	POINTS(0, /**/ 0, 0, 0, /**/ 3, 0, 1, 0x83, 0xe8, 1, /**/ 0x81, 0, 0, 1, 0xc0, 0, 0x27, 0x10, 0),
};
static const uint32_t own_documents[] = {1, 0, 0, 2};

START_TEST(own_file)
{
	static const struct {
		uint32_t method, il;
		const char *is;
	} rows[] = {
		{1, 0, "/src/a.cs:10"}, {1, 1, "/src/a.cs:10"}, {1, 2, "/src/a.cs:12"},
		{1, 6, "/src/a.cs:12"}, {1, 7, "/src/a.cs:11"}, {1, 0x7fffffff, "/src/a.cs:11"},
		{2, 0, ""}, {3, 3, ""}, {3, 4, "/src/a.cs:20"}, {3, 9, "/src/a.cs:20"},
		{3, 10, "b.cs:25"}, {4, 0, ""}, {4, 2, ""}, {4, 3, "b.cs:1000"},
		{4, 258, "b.cs:1000"}, {4, 259, "b.cs:6000"}, {5, 0, ""}, {0, 0, ""},
	};
	struct bytes file;
	struct made m;
	struct err e = {0};

	build(&file, own_points, own_documents, ARRAY_SIZE(own_points));
	ck_assert_msg(make(&m, (struct span){file.p, file.n}, &e) == 0, "%s", e.text);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ck_assert_msg(strcmp(look(&m, rows[i].method, rows[i].il), rows[i].is) == 0,
			"method %u, offset %u: %s, not %s", rows[i].method, rows[i].il,
			look(&m, rows[i].method, rows[i].il), rows[i].is);
	release(&m);
}
END_TEST

START_TEST(languages)
{
	struct bytes file;
	struct made m;
	struct err e = {0};

	build(&file, own_points, own_documents, ARRAY_SIZE(own_points));
	ck_assert_msg(make(&m, (struct span){file.p, file.n}, &e) == 0, "%s", e.text);
	ck_assert_str_eq(look(&m, 1, 0), "/src/a.cs:10");
	ck_assert_str_eq(m.hit.frame[0].dir, "C#");
	ck_assert_str_eq(look(&m, 3, 10), "b.cs:25");
	ck_assert_str_eq(m.hit.frame[0].dir, "");
	release(&m);
}
END_TEST

/* A file that ends anywhere, and one with any byte changed, is read within its bounds. */
START_TEST(broken_files)
{
	struct bytes file;
	unsigned refused = 0;

	build(&file, own_points, own_documents, ARRAY_SIZE(own_points));
	for (size_t i = 0; i < file.n; i++) {
		uint8_t *exact = malloc(i ? i : 1);
		struct made m;

		memcpy(exact, file.p, i);
		refused += make(&m, (struct span){exact, i}, NULL) < 0;
		release(&m);
		free(exact);
	}
	ck_assert_uint_ge(refused, file.n - 8);
	for (size_t i = 0; i < file.n; i++)
		for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
			uint8_t *exact = malloc(file.n);
			struct made m;

			memcpy(exact, file.p, file.n);
			exact[i] ^= (uint8_t)flip;
			make(&m, (struct span){exact, file.n}, NULL);
			release(&m);
			free(exact);
		}
}
END_TEST

/* ---- inside of a program -------------------------------------------------------------- */

static size_t deflated(const struct bytes *file, uint8_t *out, size_t room)
{
	z_stream z = {.next_in = (uint8_t *)(uintptr_t)file->p, .avail_in = (uInt)file->n,
		.next_out = out, .avail_out = (uInt)room};

	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static void set32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* One section at 0x1000, at 0x400 in the file: the debug directory, followed by the data of its entries. */
static size_t program(uint8_t *p, size_t room, const struct bytes *file, bool wide)
{
	size_t n;

	memset(p, 0, room);
	memcpy(p, "MZ", 2);
	set32(p + 60, 0x80);
	memcpy(p + 0x80, "PE\0\0", 4);
	p[0x86] = 1;
	p[0x94] = 0xf0;
	p[0x98] = 0x0b;
	p[0x99] = wide ? 2 : 1;
	set32(p + 0x98 + (wide ? 108 : 92), 16);
	set32(p + 0x98 + (wide ? 112 : 96) + 48, 0x1000);
	set32(p + 0x98 + (wide ? 112 : 96) + 52, 28);
	set32(p + 0x188 + 12, 0x1000);
	set32(p + 0x188 + 20, 0x400);
	n = deflated(file, p + 0x428, room - 0x428);
	set32(p + 0x188 + 16, (uint32_t)n + 0x28);
	set32(p + 0x400 + 12, 17);
	set32(p + 0x400 + 16, (uint32_t)n + 8);
	set32(p + 0x400 + 24, 0x420);
	memcpy(p + 0x420, "MPDB", 4);
	set32(p + 0x424, (uint32_t)file->n);
	return 0x428 + n;
}

START_TEST(embedded)
{
	uint8_t p[0x1400];
	struct bytes file;

	build(&file, own_points, own_documents, ARRAY_SIZE(own_points));
	for (int wide = 0; wide < 2; wide++) {
		size_t n = program(p, sizeof(p), &file, wide);
		struct err e = {0};
		struct made m;

		ck_assert_msg(make(&m, (struct span){p, n}, &e) == 0, "%s", e.text);
		ck_assert_str_eq(look(&m, 3, 10), "b.cs:25");
		release(&m);
		set32(p + 0x424, (uint32_t)file.n + 1);
		ck_assert_int_eq(make(&m, (struct span){p, n}, &e), -EBADMSG);
		release(&m);
		p[0x400 + 12] = 2;
		ck_assert_int_eq(make(&m, (struct span){p, n}, &e), -ENODATA);
		release(&m);
	}
}
END_TEST

/* ---- files that others made ------------------------------------------------------------ */

/* What must be found at an offset: of the points that have a line the last that is not behind it. */
static const char *expected(struct json_object *points, struct json_object *documents, int64_t il)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < json_object_array_length(points); i++) {
		struct json_object *p = json_object_array_get_idx(points, i);
		int64_t line = json_object_get_int64(json_object_array_get_idx(p, 1));
		size_t document = (size_t)json_object_get_int64(json_object_array_get_idx(p, 2));

		if (json_object_get_int64(json_object_array_get_idx(p, 0)) > il)
			break;
		if (line != HIDDEN)
			snprintf(text, sizeof(text), "%s:%u",
				json_object_get_string(json_object_array_get_idx(documents, document - 1)),
				(unsigned)line);
	}
	return text;
}

static unsigned compare(struct made *m, struct json_object *truth)
{
	struct json_object *documents = json_object_object_get(truth, "documents");
	unsigned seen = 0;

	json_object_object_foreach(json_object_object_get(truth, "methods"), row, points)
	{
		size_t n = json_object_array_length(points);
		int64_t end = n ? json_object_get_int64(json_object_array_get_idx(
					  json_object_array_get_idx(points, n - 1), 0)) : 0;

		for (int64_t il = 0; il <= end + 16; il++, seen++) {
			const char *is = look(m, (uint32_t)strtoul(row, NULL, 10), (uint32_t)il);

			ck_assert_msg(strcmp(is, expected(points, documents, il)) == 0,
				"method %s, offset %d: %s, not %s", row, (int)il, is,
				expected(points, documents, il));
		}
	}
	return seen;
}

static unsigned compare_file(const char *dir, const char *name, const char *truth_name)
{
	_cleanup_map_ struct span file = {0};
	char path[8192];
	struct json_object *truth;
	struct err e = {0};
	struct made m;
	unsigned seen;

	snprintf(path, sizeof(path), "%s/%s.expected.json", dir, truth_name);
	truth = json_object_from_file(path);
	ck_assert_ptr_nonnull(truth);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ck_assert_int_eq(map_file(&file, path, &e), 0);
	ck_assert_msg(make(&m, file, &e) == 0, "%s %s", name, e.text);
	seen = compare(&m, truth);
	ck_assert_msg(seen > 0, "%s: nothing seen", name);
	release(&m);
	json_object_put(truth);
	return seen;
}

START_TEST(shared_files)
{
	const char *top = getenv("top_srcdir");
	char dir[4096];
	struct dirent *d;
	unsigned files = 0, offsets = 0;
	DIR *all;

	snprintf(dir, sizeof(dir), "%s/../shared/fixtures/ppdb", top ? top : ".");
	all = opendir(dir);
	if (!all) {
		unit_part_skipped("no ../shared/fixtures/ppdb: Portable PDBs of .NET compilers");
		return;
	}
	while ((d = readdir(all))) {
		size_t n = strlen(d->d_name);

		if (n < 5 || (strcmp(d->d_name + n - 4, ".pdb") != 0 && strcmp(d->d_name + n - 5, ".pdbx") != 0))
			continue;
		files++;
		offsets += compare_file(dir, d->d_name, d->d_name);
	}
	closedir(all);
	ck_assert_uint_ge(files, 8);
	ck_assert_uint_ge(offsets, 500);
}
END_TEST

UNIT_MAIN("gsym-ppdb", own_file, languages, broken_files, embedded, shared_files)

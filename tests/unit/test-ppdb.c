/* Tests formats/obj/ppdb.c on files built in memory: the identity, the contents of tables with narrow and
 * with wide columns, hostile values, and files of which only the beginning is present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "formats/obj/ppdb.h"
#include "images.h"
#include "worths.h"

#include <fcntl.h>
#include <stdio.h>

#define ID "0c1033f7-8632-492e-91c6-c314b72e1920-e60b819d"

static const uint8_t pdb_id[20] = {0xf7, 0x33, 0x10, 0x0c, 0x32, 0x86, 0x2e, 0x49, 0x91, 0xc6, 0xc3, 0x14,
	0xb7, 0x2e, 0x19, 0x20, 0x9d, 0x81, 0x0b, 0xe6};
static const uint8_t kinds[3][16] = {
	{0xec, 0x16, 0x18, 0xff, 0x5e, 0xaa, 0x10, 0x4d, 0x87, 0xf7, 0x6f, 0x49, 0x63, 0x83, 0x34, 0x60},
	{0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4, 0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe},
	{0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a}};

struct plan {
	unsigned heaps;		    /* 7: every heap is wide */
	uint32_t methods, fields;   /* rows of the program's tables */
	uint32_t documents, points; /* rows of ours */
	uint32_t others;	    /* of each table between */
	uint32_t customs, kind;	    /* the last row is of this kind */
	const uint8_t *blobs;	    /* the heap of blobs; NULL: there is none */
	size_t n_blobs;
};

static const struct plan usual = {.documents = 2, .points = 3, .methods = 3, .fields = 9, .customs = 2,
	.kind = 1};

static size_t tables_at, pdb_at, guids_at;

/* Name, and where it will be written: where the stream stands. */
static size_t stream_head(size_t *at, const char *name)
{
	size_t head = *at, n = (strlen(name) + 4) & ~3u;

	put_at(head, 0, 8);
	memset(image.p + head + 8, 0, n);
	put_bytes(head + 8, name, strlen(name));
	*at = head + 8 + n;
	image.n = MAX(image.n, *at);
	return head;
}

static void stream_is(size_t head, size_t from)
{
	image.n = (image.n + 3) & ~(size_t)3;
	put_at(head, from, 4);
	put_at(head + 4, image.n - from, 4);
}

static size_t table_bytes(const struct plan *p)
{
	size_t s = p->heaps & 1 ? 4 : 2, g = p->heaps & 2 ? 4 : 2, b = p->heaps & 4 ? 4 : 2;
	size_t method = p->methods >= 65536 ? 4 : 2, other = p->others >= 65536 ? 4 : 2;

	return p->documents * (2 * b + 2 * g) + p->points * ((p->documents >= 65536 ? 4 : 2) + b) +
		p->others * (method + 3 * other + 8 + 4 + s + s + b + other + b + 2 * method);
}

static void put_tables(const struct plan *p)
{
	const uint32_t rows[8] = {p->documents, p->points, p->others, p->others, p->others, p->others,
		p->others, p->customs};
	unsigned g = p->heaps & 2 ? 4 : 2, b = p->heaps & 4 ? 4 : 2, parent;
	size_t at = image.n;

	parent = p->methods >= 2048 || p->fields >= 2048 || p->documents >= 2048 || p->others >= 2048
		? 4 : 2;
	put_at(at, 0, 24);
	put_at(at + 6, p->heaps, 1);
	put_at(at + 8, 0xffull << 48, 8);
	at += 24;
	for (unsigned i = 0; i < 8; i++, at += 4)
		put_at(at, rows[i], 4);
	at += table_bytes(p);
	for (uint32_t i = 0; i < p->customs; i++) {
		put_at(at, 1, parent);
		put_at(at + parent, i + 1 == p->customs ? p->kind : 1, g);
		put_at(at + parent + g, 1, b);
		at += parent + g + b;
	}
	image.n = MAX(image.n, at);
}

static void build(const struct plan *p)
{
	size_t at = 32, heads[4] = {0};

	memset(&image, 0, sizeof(image));
	put_bytes(0, "BSJB\1\0\1\0\0\0\0\0\14\0\0\0PDB v1.0\0\0\0\0\0\0\3", 31);
	put_at(30, p->blobs ? 4 : 3, 2);
	heads[0] = stream_head(&at, "#Pdb");
	heads[1] = stream_head(&at, "#~");
	heads[2] = stream_head(&at, "#GUID");
	if (p->blobs)
		heads[3] = stream_head(&at, "#Blob");
	pdb_at = image.n;
	put_bytes(pdb_at, pdb_id, 20);
	put_at(pdb_at + 20, 0, 4);
	put_at(pdb_at + 24, 1 << 4 | 1 << 6, 8);
	put_at(pdb_at + 32, p->fields, 4);
	put_at(pdb_at + 36, p->methods, 4);
	stream_is(heads[0], pdb_at);
	tables_at = image.n;
	put_tables(p);
	stream_is(heads[1], tables_at);
	guids_at = image.n;
	put_bytes(guids_at, kinds, sizeof(kinds));
	stream_is(heads[2], guids_at);
	if (!p->blobs)
		return;
	at = image.n;
	put_bytes(at, p->blobs, p->n_blobs);
	stream_is(heads[3], at);
}

START_TEST(identity)
{
	struct obj_slice s;
	char room[DEBUG_ID_TEXT];

	build(&usual);
	s = must();
	ck_assert_str_eq(s.format, "portablepdb");
	ck_assert_str_eq(s.arch, "unknown");
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_int_eq(s.module.object, OBJECT_PE_DOTNET);
	ck_assert_uint_eq(s.n_types, 1);
	ck_assert_int_eq(s.types[0], FILETYPE_PORTABLEPDB);
	object_debug_id(&s, ID);
	ck_assert_str_eq(debug_id_breakpad(&s.module.debug_id, room),
		"0C1033F78632492E91C6C314B72E1920e60b819d");
}
END_TEST

START_TEST(keys)
{
	struct err e;

	build(&usual);
	ck_assert_int_eq(check(FILETYPE_PORTABLEPDB, "0C1033F78632492E91C6C314B72E1920e60b819d", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PORTABLEPDB, "0C1033F78632492E91C6C314B72E1920ffffffff", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PORTABLEPDB, "0c1033f78632492e91c6c314b72e1920FFFFFFFF", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PORTABLEPDB, "1c1033f78632492e91c6c314b72e1920FFFFFFFF", &e),
		-EBADMSG);
	ck_assert_int_eq(check(FILETYPE_PDB, "0C1033F78632492E91C6C314B72E19201", &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is portablepdb, not pdb");
	ck_assert(obj_may_be(FILETYPE_PORTABLEPDB, image.p, OBJ_HEAD));
}
END_TEST

static int check_sum(const char *checksum, struct err *e)
{
	struct view v = view_of_mem(image.p, image.n);

	return ppdb_checksum(&v, checksum, e);
}

/* The digest is of the file with zeros where its identity stands. */
START_TEST(checksum)
{
	struct plan p = usual;
	char text[SHA256_TEXT + 8] = "SHA256:";
	uint8_t raw[32];
	struct err e = {0};

	p.documents = 30000; /* more than is read at once */
	build(&p);
	ck_assert_uint_gt(image.n, 200000);
	memset(image.p + pdb_at, 0, 20);
	sha256_of(image.p, image.n, raw);
	hex_print(raw, sizeof(raw), text + 7);
	put_bytes(pdb_at, pdb_id, 20);
	ck_assert_int_eq(check_sum(text, &e), 1);
	text[0] = 's';
	ck_assert_int_eq(check_sum(text, &e), 1);
	ck_assert_int_eq(check_sum("MD5:00112233445566778899aabbccddeeff", &e), 0);
	ck_assert_int_eq(check_sum("", &e), 0);
	ck_assert_int_eq(check_sum("SHA256", &e), 0);
	ck_assert_int_eq(check_sum("SHA256:", &e), 0);
	ck_assert_int_eq(check_sum("SHA256:0", &e), 0);
	ck_assert_int_eq(check_sum("SHA256:zz", &e), 0);
	ck_assert_int_eq(check_sum("SHA256:0011", &e), 0); /* a part of one tells nothing */
	/* one bit of the identity does not count, and one of anything else does */
	image.p[pdb_at + 19] ^= 1;
	ck_assert_int_eq(check_sum(text, &e), 1);
	image.p[pdb_at + 20] ^= 1;
	ck_assert_int_eq(check_sum(text, &e), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "sHA256"));
	image.p[pdb_at + 20] ^= 1;
	image.p[image.n - 1] ^= 1;
	ck_assert_int_eq(check_sum(text, &e), -EBADMSG);
	image.p[0] = 'X';
	ck_assert_int_eq(check_sum(text, &e), 0);
}
END_TEST

/* Pairs that a compiler made, where they are beside the source. */
START_TEST(checksum_of_programs)
{
	static const char *const pairs[][2] = {{"integration.dll", "portable.pdb"},
		{"ppdb-sourcelink-sample.dll", "ppdb-sourcelink-sample.pdb"}};
	const char *top = getenv("top_srcdir");

	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		_cleanup_free_ char *dll = NULL, *pdb = NULL, *pe = NULL, *ppdb = NULL;
		struct obj_slice s;
		struct view v;
		struct err e;
		size_t n, m;

		ck_assert_int_ge(asprintf(&dll, "%s/../shared/fixtures/ppdb/%s", top ? top : ".", pairs[i][0]), 0);
		ck_assert_int_ge(asprintf(&pdb, "%s/../shared/fixtures/ppdb/%s", top ? top : ".", pairs[i][1]), 0);
		if (path_read(AT_FDCWD, dll, 1 << 20, &pe, &n) < 0 ||
			path_read(AT_FDCWD, pdb, 1 << 20, &ppdb, &m) < 0) {
			unit_part_skipped("no ../shared/fixtures/ppdb: programs of .NET and their PDBs");
			return;
		}
		s = object_must(pe, n, 0);
		v = view_of_mem(ppdb, m);
		ck_assert_msg(ppdb_checksum(&v, s.module.checksum, &e) == 1, "%s: %s", pdb, s.module.checksum);
		ppdb[m - 1] ^= 1;
		ck_assert_int_eq(ppdb_checksum(&v, s.module.checksum, &e), -EBADMSG);
	}
}
END_TEST

/* Each width of each column, by what makes it wide. */
START_TEST(worth)
{
	static const uint32_t wide[][4] = {{3, 9, 2, 1}, {70000, 9, 2, 1}, {3, 2048, 2, 1},
		{3, 2047, 2, 1}, {3, 9, 70000, 0}, {3, 9, 2, 5000}};

	for (unsigned i = 0; i < ARRAY_SIZE(wide) * 8 * 3; i++) {
		const uint32_t *w = wide[i / 24];
		struct plan p = usual;
		struct obj_slice s;

		p.methods = w[0];
		p.fields = w[1];
		p.documents = w[2];
		p.others = w[3];
		p.heaps = i / 3 % 8;
		p.kind = 1 + i % 3;
		build(&p);
		s = must();
		ck_assert_worth(s, p.kind > 1 ? "debug=full sources" : "debug=full");
	}
}
END_TEST

START_TEST(nothing_to_find)
{
	struct plan p = usual;
	struct obj_slice s;

	p.points = 0;
	p.customs = 0;
	build(&p);
	s = must();
	ck_assert_worth(s, "none");
	p.customs = 1;
	p.kind = 9; /* behind the heap */
	build(&p);
	s = must();
	ck_assert_worth(s, "none");
}
END_TEST

START_TEST(lies)
{
	build(&usual);
	put_at(30, 33, 2);
	broken("33 streams");
	put_at(30, 0, 2);
	broken("no stream with an identity");
	put_at(12, 1025, 4);
	broken("1025 characters");
	build(&usual);
	put_at(36, 31, 4);
	broken("no stream with an identity");
	put_at(36, 36, 4);
	broken("table sizes are cut short");
	put_at(36, 0xffffffff, 4);
	broken("before the end of one of its streams");
	build(&usual);
	put_bytes(40, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 32);
	broken("has no end");
	build(&usual);
	put_at(tables_at + 8, 0xff, 1);
	broken("tables of a program");
	build(&usual);
	put_at(tables_at + 24 + 4, 0xffffffff, 4);
	broken("do not fit");
	put_at(52, 23, 4);
	broken("no tables");
	put_at(52, 28, 4);
	broken("table sizes are cut short");
}
END_TEST

START_TEST(every_field)
{
	build(&usual);
	every_lie(4, image.n);
}
END_TEST

START_TEST(parts)
{
	struct key k = {.type = FILETYPE_PORTABLEPDB, .id = "1c1033f78632492e91c6c314b72e1920ffffffff"};
	struct obj_slice s;
	struct err e;

	build(&usual);
	every_cut(1);
	object_prefixes_agree(image.p, image.n, NULL, 0);
	/* Another build is known by its first stream. */
	ck_assert_int_eq(object_part(image.p, tables_at, VIEW_UNKNOWN, &k, 0, &s, &e), -EBADMSG);
	k.id[0] = '0';
	ck_assert_int_eq(object_part(image.p, tables_at, VIEW_UNKNOWN, &k, 0, &s, &e), -EAGAIN);
}
END_TEST

/* ---- embedded sources ---------------------------------------------------------------------------------------- */

/* A heap of blobs: the empty blob, and from HEAP_SOURCE on the source "hi", which is not packed. */
static uint8_t heap[40000];
static size_t heap_n;
#define HEAP_SOURCE 1

static size_t heap_add(const void *p, size_t n)
{
	size_t at = heap_n;

	ck_assert_uint_lt(heap_n + n + 2, sizeof(heap));
	if (n >= 0x80)
		heap[heap_n++] = (uint8_t)(0x80 | n >> 8);
	heap[heap_n++] = (uint8_t)n;
	memcpy(heap + heap_n, p, n);
	heap_n += n;
	return at;
}

static void heap_begin(void)
{
	heap_n = 0;
	heap_add("", 0);
	ck_assert_uint_eq(heap_add("\0\0\0\0hi", 6), HEAP_SOURCE);
}

/* Builds a PDB whose documents all have the name at this place of the heap. The first one has the source. */
static void build_documents(uint32_t n, size_t name)
{
	struct plan p = {.documents = n, .customs = 1, .kind = 2, .blobs = heap, .n_blobs = heap_n};
	unsigned parent = n >= 2048 ? 4 : 2;
	size_t at;

	build(&p);
	at = tables_at + 24 + 8 * 4;
	for (uint32_t i = 0; i < n; i++)
		put_at(at + 8 * i, name, 2);
	at += table_bytes(&p);
	put_at(at, 1 << 5 | 22, parent);
	put_at(at + parent + 2, HEAP_SOURCE, 2);
}

static int find_source(const char *path)
{
	_cleanup_free_ char *text = NULL;
	struct err e = {0};
	size_t n = 0;
	int r = ppdb_source((struct span){image.p, image.n}, path, 100, &text, &n, &e);

	ck_assert(r == 0 ? n == 2 && memcmp(text, "hi", 2) == 0 : e.text[0]);
	return r;
}

/* The name of a document is a separator, and parts that are blobs. */
START_TEST(source_names)
{
	static const struct {
		char separator;
		const char *parts[5];
		const char *path;
		int r;
	} rows[] = {
		{'\\', {"C:", "src", "a.cs"}, "/C:/src/a.cs", 0},
		{'\\', {"C:", "src", "a.cs"}, "/C:/src/a.c", -ENOENT},
		{'\\', {"C:", "src", "a.cs"}, "/C:/src/a.css", -ENOENT},
		{'\\', {"C:", "src", "a.cs"}, "/C:/src", -ENOENT},
		{'\\', {"C:", "src", "a.cs"}, "/c:/src/a.cs", -ENOENT},
		{'\\', {"C:", "src", ""}, "/C:/src/", 0},
		{'\\', {"", "", "srv", "a.cs"}, "//srv/a.cs", 0},
		{0, {"C:\\src\\a.cs"}, "/C:/src/a.cs", 0},
		{0, {"", "a", ".cs"}, "/a.cs", 0},
		{0, {"a", "b"}, "/ab", 0},
		{0, {"a", "b"}, "/a/b", -ENOENT},
		{'/', {"", "home", "a.cs"}, "/home/a.cs", 0},
		{'/', {"", "home", "a.cs"}, "/a.cs", -ENOENT},
		{'/', {""}, "/a.cs", -ENOENT},
		{'\x80', {"a.cs"}, "/a.cs", -EBADMSG},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t name[6] = {(uint8_t)rows[i].separator};
		size_t n = 1;
		int r;

		heap_begin();
		for (unsigned j = 0; rows[i].parts[j]; j++) {
			const char *part = rows[i].parts[j];

			name[n++] = (uint8_t)(part[0] ? heap_add(part, strlen(part)) : 0);
		}
		build_documents(1, heap_add(name, n));
		r = find_source(rows[i].path);
		ck_assert_msg(r == rows[i].r, "row %u: %s: %d", i, rows[i].path, r);
	}
}
END_TEST

/* 200,000 rows share a name of 12,000 parts, which is longer than the path, or empty. A search that builds each name
 * exceeds the time limit of a test many times over. */
START_TEST(source_names_that_are_shared)
{
	static uint8_t name[12001];

	for (unsigned i = 0; i < 2; i++) {
		heap_begin();
		memset(name + 1, i ? (int)heap_add("a", 1) : 0, sizeof(name) - 1);
		build_documents(200000, heap_add(name, sizeof(name)));
		ck_assert_int_eq(find_source("/aaaaaaaaaaaaaaaa"), -ENOENT);
	}
}
END_TEST

UNIT_MAIN("ppdb", identity, keys, checksum, checksum_of_programs, worth, nothing_to_find, lies, every_field, parts,
	source_names, source_names_that_are_shared)

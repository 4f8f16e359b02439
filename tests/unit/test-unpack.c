/* Tests unpack/: files of every packing, unpacked in one piece and in many; truncated, changed,
 * false and endless files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "pack/unpack/unpack.h"
#include "packed.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>

#define MOST (64u << 20)
#define ROOM (128u << 20)

static const struct row {
	const char *label, *name;
	void (*pack)(struct buf *out, const void *p, size_t n);
	bool sums; /* every bit of the content is under a checksum */
	bool peeks;
} rows[] = {
	{"gzip", "gzip", pack_gzip, true, true},
	{"zlib", "zlib", pack_zlib, true, true},
	{"zstd", "zstd", pack_zstd, true, true},
	{"zip", "zip", pack_zip, true, true},
	{"zip, stored", "zip", pack_zip_stored, true, true},
	{"cab, stored", "cab", pack_cab, false, true},
	{"cab, MSZIP", "cab", pack_cab_mszip, false, true},
	{"cab, LZX", "cab", pack_cab_lzx, false, false},
};

static int take_all(void *ctx, const void *p, size_t n)
{
	return buf_add(ctx, p, n);
}

static int count_only(void *ctx, const void *p, size_t n)
{
	*(uint64_t *)ctx += n;
	return 0;
}

/* What comes out of a file of which `step` bytes come at a time; 0: it is all here. */
static int run(const void *p, size_t n, size_t step, uint64_t most, unpack_write *write, void *ctx,
	struct err *e)
{
	const struct packing *packing = packing_of(p, n);
	struct view v = view_of_mem(p, n);
	_cleanup_unpack_ struct unpack *u = NULL;
	int r;

	if (!packing)
		return -ENOMSG;
	ck_assert_int_eq(unpack_new(&u, packing, most, write, ctx), 0);
	v.have = step ? MIN(step, n) : n;
	v.size = step ? VIEW_UNKNOWN : n;
	while ((r = unpack_more(u, &v, e)) == -EAGAIN) {
		ck_assert_msg(v.size == VIEW_UNKNOWN, "waits for what is there");
		ck_assert_uint_gt(v.want_len, 0);
		ck_assert_uint_ge(v.want_off + v.want_len, v.have);
		if (v.have == n)
			v.size = n;
		v.have = MIN(v.have + step, n);
	}
	if (r < 0)
		ck_assert_msg(e->text[0], "an error without words");
	return r;
}

static int run_buf(const struct buf *b, struct buf *out, struct err *e)
{
	return run(b->p, b->n, 0, MOST, take_all, out, e);
}

static void must(const struct buf *b, const void *p, size_t n, size_t step, const char *label)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(ROOM);
	struct err e = {0};
	int r = run(b->p, b->n, step, MOST, take_all, &out, &e);

	ck_assert_msg(r == 0, "%s, %zu bytes: %d %s", label, n, r, e.text);
	ck_assert_msg(out.n == n && (!n || memcmp(out.p, p, n) == 0),
		"%s, %zu bytes: other bytes (%zu)", label, n, out.n);
}

static void must_fail(const struct buf *b, int want, const char *words)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(ROOM);
	struct err e = {0};
	int r = run_buf(b, &out, &e);

	ck_assert_msg(r == want, "%d %s, not %d", r, e.text, want);
	ck_assert_msg(strstr(e.text, words), "\"%s\" has no \"%s\"", e.text, words);
}

START_TEST(there_and_back)
{
	static const size_t sizes[] = {0, 1, 100, 32767, 32768, 32769, 65536, 100001, 300000};
	static const size_t steps[] = {0, 1, 7, 1000, 65536, 70000};
	_cleanup_free_ uint8_t *p = malloc(300000);

	for (unsigned i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(sizes); i++) {
		const struct row *row = &rows[i / ARRAY_SIZE(sizes)];
		size_t n = sizes[i % ARRAY_SIZE(sizes)];
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

		fill_mixed(p, n, i);
		row->pack(&b, p, n);
		ck_assert_str_eq(packing_name(packing_of(b.p, UNPACK_HEAD)), row->name);
		for (unsigned s = 0; s < ARRAY_SIZE(steps); s++)
			if (!steps[s] || n / steps[s] < 2000)
				must(&b, p, n, steps[s], row->label);
	}
}
END_TEST

/* However much of it is there, less than all is never taken for all. */
START_TEST(cut)
{
	uint8_t p[700];

	fill_mixed(p, sizeof(p), 3);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

		rows[i].pack(&b, p, sizeof(p));
		for (size_t n = UNPACK_HEAD; n < b.n; n++) {
			_cleanup_buf_ struct buf out = BUF_UP_TO(ROOM);
			struct err e = {0};
			int r = run(b.p, n, n & 1 ? 50 : 0, MOST, take_all, &out, &e);

			ck_assert_msg(r == -EBADMSG || r == -ENOTSUP, "%s cut to %zu of %zu: %d %s",
				rows[i].label, n, b.n, r, e.text);
			ck_assert_uint_le(out.n, sizeof(p));
		}
	}
}
END_TEST

START_TEST(changed)
{
	uint8_t p[400];

	fill_mixed(p, sizeof(p), 5);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);
		unsigned seen = 0, refused = 0;

		rows[i].pack(&b, p, sizeof(p));
		for (size_t at = 0; at < b.n * 8; at++) {
			_cleanup_buf_ struct buf out = BUF_UP_TO(ROOM);
			struct err e = {0};
			int r;

			b.p[at / 8] = (char)(b.p[at / 8] ^ 1 << at % 8);
			r = run_buf(&b, &out, &e);
			b.p[at / 8] = (char)(b.p[at / 8] ^ 1 << at % 8);
			seen++;
			refused += r != 0;
			if (r == 0 && rows[i].sums)
				ck_assert_msg(out.n == sizeof(p) && memcmp(out.p, p, out.n) == 0,
					"%s, bit %zu changed: other bytes", rows[i].label, at);
		}
		/* Names, times and the like may be anything. */
		ck_assert_msg(refused > seen / 2, "%s: %u of %u", rows[i].label, refused, seen);
	}
}
END_TEST

/* ---- bombs -------------------------------------------------------------------------- */

static void must_stop(const struct buf *b, uint64_t most, uint64_t made_most, const char *words)
{
	struct err e = {0};
	uint64_t made = 0;
	int r = run(b->p, b->n, 0, most, count_only, &made, &e);

	ck_assert_msg(r == -EFBIG, "%d %s", r, e.text);
	ck_assert_msg(strstr(e.text, words), "\"%s\" has no \"%s\"", e.text, words);
	ck_assert_msg(made <= made_most, "%llu bytes came out", (unsigned long long)made);
}

/* 10 GB: a member of 10 MB of zeros, a thousand times. */
START_TEST(bomb_gzip)
{
	_cleanup_buf_ struct buf one = BUF_UP_TO(ROOM), all = BUF_UP_TO(ROOM);
	_cleanup_free_ void *zeros = calloc(1, 10000000);

	pack_gzip(&one, zeros, 10000000);
	for (unsigned i = 0; i < 1000; i++)
		put(&all, one.p, one.n);
	must_stop(&all, UINT64_MAX, UNPACK_FREE, "bomb");
	must_stop(&all, 5000000, 5000000, "more than 5000000 bytes");
	must(&one, zeros, 10000000, 0, "not so many zeros");
}
END_TEST

/* A block of 128 KiB of one byte has four bytes. */
START_TEST(bomb_zstd)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

	put(&b, "\x28\xb5\x2f\xfd\x00\x58", 6);
	for (unsigned i = 0; i < 100000; i++)
		put(&b, "\x02\x00\x10\x00", 4);
	must_stop(&b, UINT64_MAX, UNPACK_FREE, "bomb");
	must_stop(&b, 1000, 1000, "more than 1000 bytes");
}
END_TEST

START_TEST(bomb_zip)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), announced = BUF_UP_TO(ROOM);
	_cleanup_free_ uint8_t *zeros = calloc(1, 40000000);

	pack_zip(&b, zeros, 40000000);
	must_stop(&b, UINT64_MAX, 0, "bomb");
	must_stop(&b, 1000, 0, "more than 1000 bytes");
	pack_zip_lie(&announced, zeros, 10, &(struct zip_lie){.size = 4000000000u});
	must_stop(&announced, UINT64_MAX, 0, "bomb");
}
END_TEST

START_TEST(bomb_cab)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), announced = BUF_UP_TO(ROOM);
	_cleanup_free_ uint8_t *zeros = calloc(1, 40000000);

	pack_cab_lie(&announced, zeros, 10, CAB_MSZIP, &(struct cab_lie){.length = 2000000000});
	must_stop(&announced, UINT64_MAX, 0, "bomb");
	/* MSZIP has a head for each block, so its ratio stays below a thousand. */
	pack_cab_mszip(&b, zeros, 40000000);
	must_stop(&b, 1000, 0, "more than 1000 bytes");
}
END_TEST

/* ---- each packing's own ------------------------------------------------------------- */

START_TEST(gzip_members)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), zlib = BUF_UP_TO(ROOM);

	pack_gzip(&b, "one", 3);
	pack_gzip(&b, "", 0);
	pack_gzip(&b, "two", 3);
	must(&b, "onetwo", 6, 0, "members");
	must(&b, "onetwo", 6, 1, "members");
	put(&b, "\0\0\0\0", 4);
	must(&b, "onetwo", 6, 0, "zeros behind");
	put(&b, "x", 1);
	must_fail(&b, -EBADMSG, "after the end");
	pack_zlib(&zlib, "one", 3);
	put(&zlib, "\0", 1);
	must_fail(&zlib, -EBADMSG, "after the end");
}
END_TEST

START_TEST(zstd_frames)
{
	_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), wide = BUF_UP_TO(ROOM),
				 dict = BUF_UP_TO(ROOM);

	put(&b, "\x50\x2a\x4d\x18\4\0\0\0abcd", 12);
	pack_zstd(&b, "one", 3);
	put(&b, "\x5f\x2a\x4d\x18\0\0\0\0", 8);
	pack_zstd(&b, "two", 3);
	must(&b, "onetwo", 6, 0, "frames");
	must(&b, "onetwo", 6, 1, "frames");
	put(&b, "garbage", 7);
	must_fail(&b, -EBADMSG, "zstd");
	put(&wide, "\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00", 9); /* 1 GiB */
	must_fail(&wide, -ENOTSUP, "window");
	put(&dict, "\x28\xb5\x2f\xfd\x21\x07\x00\x01\x00\x00", 10);
	must_fail(&dict, -ENOTSUP, "dictionary");
}
END_TEST

START_TEST(zip_others)
{
	static const struct {
		struct zip_lie lie;
		int want;
		const char *words;
	} lies[] = {
		{{.members = 2}, -ENOTSUP, "several members"},
		{{.members = 2, .count = 1}, -ENOTSUP, "several members"},
		{{.encrypted = true}, -ENOTSUP, "encrypted"},
		{{.method = 14}, -ENOTSUP, "method 14"},
		{{.size = 3}, -EBADMSG, "longer than the archive says"},
		{{.size = 6}, -EBADMSG, "checksum"},
		{{.stored = true, .size = 3}, -EBADMSG, "longer than the archive says"},
	};
	_cleanup_buf_ struct buf empty = BUF_UP_TO(ROOM), text = BUF_UP_TO(ROOM);

	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

		pack_zip_lie(&b, "hello", 5, &lies[i].lie);
		must_fail(&b, lies[i].want, lies[i].words);
	}
	put(&empty, "PK\3\4PK\5\6", 8);
	put_number(&empty, 0, 18);
	must_fail(&empty, -ENOTSUP, "empty");
	put(&text, "PK\3\4 and no more", 15);
	must_fail(&text, -EBADMSG, "cut short");
}
END_TEST

START_TEST(cab_others)
{
	static const struct {
		struct cab_lie lie;
		int want;
		const char *words;
	} lies[] = {
		{{.files = 2}, -ENOTSUP, "several files"},
		{{.flags = 1}, -ENOTSUP, "of a set"},
		{{.flags = 2}, -ENOTSUP, "of a set"},
		{{.offset = 2}, -EBADMSG, "does not begin"},
		{{.length = 6}, -EBADMSG, "cabinet"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lies) * 3; i++) {
		static const enum cab_method methods[] = {CAB_STORED, CAB_MSZIP, CAB_LZX};
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

		pack_cab_lie(&b, "hello", 5, methods[i % 3], &lies[i / 3].lie);
		must_fail(&b, lies[i / 3].want, lies[i / 3].words);
	}
}
END_TEST

/* ---- what is around it -------------------------------------------------------------- */

static int refuse(void *ctx, const void *p, size_t n)
{
	return -ENOSPC;
}

START_TEST(nowhere_to_write)
{
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);
		struct err e = {0};

		rows[i].pack(&b, "hello", 5);
		ck_assert_int_eq(run(b.p, b.n, 0, MOST, refuse, NULL, &e), -ENOSPC);
	}
}
END_TEST

START_TEST(heads)
{
	static const char *const others[] = {"\177ELF", "MZ\x90", "Microsoft C/C++ MSF 7.00",
		"BSJB", "MODULE Linux", "SYSB\2", "\xfe\xed\xfa\xcf", "\xca\xfe\xba\xbe",
		"<!DOCTYPE html>", "x\x20 text", "PK", "PK\5\6", "MSC", "\x1f\x8b", ""};
	static const uint8_t asm_magic[] = {0, 'a', 's', 'm', 1, 0, 0, 0};

	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		ck_assert_msg(!packing_of(others[i], strlen(others[i])), "%s", others[i]);
	ck_assert_ptr_null(packing_of(asm_magic, sizeof(asm_magic)));
}
END_TEST

START_TEST(peek)
{
	uint8_t p[20000], head[64];

	fill_mixed(p, sizeof(p), 9);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);
		const struct packing *packing;
		size_t n;

		rows[i].pack(&b, p, sizeof(p));
		packing = packing_of(b.p, b.n);
		n = unpack_peek(packing, b.p, b.n - 1, head, sizeof(head));
		ck_assert_uint_eq(n, rows[i].peeks ? sizeof(head) : 0);
		ck_assert_mem_eq(head, p, n);
		/* Of less there is less, and it is right. */
		for (size_t some = 0; some < MIN(b.n, 2000); some += 13) {
			n = unpack_peek(packing, b.p, some, head, sizeof(head));
			ck_assert_uint_le(n, sizeof(head));
			ck_assert_mem_eq(head, p, n);
		}
	}
}
END_TEST

START_TEST(names_inside)
{
	static const char *const pairs[][2] = {{"a/foo.debug.gz", "foo.debug"}, {"foo.debug.ZST", "foo.debug"},
		{"x.pd_", "x.pdb"}, {"/s/x.Pdb/ID/x.pd_", "x.Pdb"}, {"x.exe//ID/x.ex_", "x.exe"},
		{"y.pdb/ID/x.pd_", "x.pdb"}, {"xx.pdb/ID/x.pd_", "x.pdb"}, {"pdb/x.sy_", "x.sys"}, {"foo_", "foo_"},
		{"ID/_", "_"}, {"n/ID/_", "n"}, {"", ""}, {"_", "_"}, {"/", ""}, {".gz", ".gz"}, {"a.cab", "a"},
		{"plain", "plain"}};
	char room[64], small[4];

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		unpack_name(pairs[i][0], room, sizeof(room));
		ck_assert_str_eq(room, pairs[i][1]);
	}
	unpack_name("abcdefgh.gz", small, sizeof(small));
	ck_assert_str_eq(small, "abc");
}
END_TEST

/* ---- real cabinets, where they are -------------------------------------------------- */

static bool real(const char *name, struct buf *out)
{
	const char *top = getenv("top_srcdir");
	_cleanup_free_ char *p = NULL;
	char path[4096];
	size_t n;

	snprintf(path, sizeof(path), "%s/../shared/fixtures/built/%s", top ? top : ".", name);
	if (path_read(AT_FDCWD, path, ROOM, &p, &n) < 0)
		return false;
	put(out, p, n);
	return true;
}

static uint32_t number_at(const struct buf *b, size_t at, unsigned n)
{
	uint32_t value = 0;

	while (n--)
		value = value << 8 | (uint8_t)b->p[at + n];
	return value;
}

/* Folder and file number `nth` of a cabinet that has one file in each, as a cabinet of its own. */
static void one_of(const struct buf *many, unsigned nth, struct buf *out)
{
	size_t at = number_at(many, 16, 4), folder = 36 + nth * 8,
	       data = number_at(many, folder, 4);

	for (unsigned i = 0; i < nth; i++)
		at += 16 + strlen(many->p + at + 16) + 1;
	put(out, many->p, 26);
	put_number(out, 1, 2);
	put_number(out, 1, 2);
	put_number(out, 0, 6);
	put_number(out, 36 + 8 + 16 + 2, 4);
	put(out, many->p + folder + 4, 4);
	put(out, many->p + at, 8);
	put_number(out, 0, 2);
	put(out, many->p + at + 10, 6);
	put(out, "x", 2);
	put(out, many->p + data, many->n - data);
	out->p[16] = 36 + 8;
}

START_TEST(real_cabinets)
{
	static const char *const words[] = {"MSZIP", "LZX", "Quantum"};
	_cleanup_buf_ struct buf many = BUF_UP_TO(ROOM), pdb = BUF_UP_TO(ROOM);

	if (!real("cab/libmspack/mszip_lzx_qtm.cab", &many)) {
		unit_part_skipped("no ../shared/fixtures/built/cab: LZX that packs, and Quantum");
		return;
	}
	must_fail(&many, -ENOTSUP, "several files");
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), out = BUF_UP_TO(ROOM);
		struct err e = {0};
		int r;

		one_of(&many, i, &b);
		r = run_buf(&b, &out, &e);
		ck_assert_msg(r == 0, "%s: %d %s", words[i], r, e.text);
		ck_assert_msg(strstr(buf_text(&out), words[i]), "%s: %s", words[i], buf_text(&out));
		for (size_t n = UNPACK_HEAD; n < 62 + 8 + number_at(&b, 62 + 4, 2); n++)
			ck_assert_int_ne(run(b.p, n, 0, MOST, take_all, &out, &e), 0);
	}
	ck_assert(real("pe/foo.pdb", &pdb));
	for (unsigned i = 0; i < 2; i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM);

		ck_assert(real(i ? "cab/foo.pd_" : "cab/foo.nocomp.pd_", &b));
		must(&b, pdb.p, pdb.n, 0, "foo.pd_");
	}
}
END_TEST

/* Cabinets that once broke libmspack: any answer, and soon. */
START_TEST(evil_cabinets)
{
	static const char *const names[] = {"cve-2015-4470-mszip-over-read",
		"cve-2015-4471-lzx-under-read", "cve-2017-11423-fname-overread",
		"cve-2018-18584-qtm-max-size-block", "lzx-main-tree-no-lengths", "multi_basic_pt1",
		"normal_2files_1folder"};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_buf_ struct buf b = BUF_UP_TO(ROOM), out = BUF_UP_TO(ROOM);
		struct err e = {0};
		char path[100];

		snprintf(path, sizeof(path), "cab/libmspack/%s.cab", names[i]);
		if (!real(path, &b)) {
			unit_part_skipped("no ../shared/fixtures/built/cab: cabinets that once broke libmspack");
			return;
		}
		run_buf(&b, &out, &e);
		ck_assert_uint_le(out.n, 1 << 20);
	}
}
END_TEST

UNIT_MAIN("unpack", there_and_back, cut, changed, bomb_gzip, bomb_zstd, bomb_zip, bomb_cab,
	gzip_members, zstd_frames, zip_others, cab_others, nowhere_to_write, heads, peek, names_inside,
	real_cabinets, evil_cabinets)

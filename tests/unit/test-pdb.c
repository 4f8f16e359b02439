/* Tests formats/obj/pdb.c on files built in memory: identity by stream 3 and by stream 1, directories of
 * many blocks, hostile values, and files of which only the beginning is present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "images.h"
#include "worths.h"

static const uint8_t guid[16] = {0x9d, 0xd9, 0x49, 0x32, 0x40, 0x0c, 0x31, 0x49, 0x86, 0x10, 0xf4,
	0xe4, 0xfb, 0x0b, 0x69, 0x36};

struct plan {
	unsigned block_size, streams;
	uint32_t info_age, info_version, info_size, dbi_age, dbi_size, machine, old_size;
};

static const struct plan usual = {.block_size = 4096, .streams = 5, .info_age = 4,
	.info_version = 20000404, .info_size = 28, .dbi_age = 1, .dbi_size = 64, .machine = 0x8664,
	.old_size = 9000};

static unsigned blocks_of(const struct plan *p, uint32_t size)
{
	return size == UINT32_MAX ? 0 : (size + p->block_size - 1) / p->block_size;
}

/* Stream 0 is old_size long, 1 the identity, 2 the types, 3 the debug information, others empty.
 * Their data stand in blocks 8 and 12. */
static void directory(const struct plan *p, uint32_t *words, unsigned *n)
{
	const uint32_t sizes[] = {p->old_size, p->info_size, 3 * p->block_size + 1, p->dbi_size};

	*n = 0;
	words[(*n)++] = p->streams;
	for (unsigned i = 0; i < p->streams; i++)
		words[(*n)++] = i < 4 ? sizes[i] : 0;
	for (unsigned i = 0; i < MIN(p->streams, 4u); i++)
		for (unsigned b = 0; b < blocks_of(p, sizes[i]); b++)
			words[(*n)++] = (i == 1 ? 8 : i == 3 ? 12 : 5) + b;
}

static void streams(const struct plan *p)
{
	size_t info = 8 * (size_t)p->block_size, dbi = 12 * (size_t)p->block_size;

	put_at(info, p->info_version, 4);
	put_at(info + 4, 0x418e89c3, 4);
	put_at(info + 8, p->info_age, 4);
	put_bytes(info + 12, guid, 16);
	put_at(dbi, UINT32_MAX, 4);
	put_at(dbi + 4, 19990903, 4);
	put_at(dbi + 8, p->dbi_age, 4);
	put_at(dbi + 58, p->machine, 2);
}

static void build(const struct plan *p)
{
	static uint32_t words[1 << 17];
	size_t map = 16, at;
	unsigned n, per = p->block_size / 4, n_blocks;

	memset(&image, 0, sizeof(image));
	directory(p, words, &n);
	n_blocks = (n + per - 1) / per;
	at = map + (n_blocks + per - 1) / per; /* the directory, behind its list */
	put_bytes(0, "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0", 32);
	put_at(32, p->block_size, 4);
	put_at(36, 1, 4);
	put_at(40, at + n_blocks, 4);
	put_at(44, (uint64_t)n * 4, 4);
	put_at(52, map, 4);
	streams(p);
	for (unsigned i = 0; i < n_blocks; i++) /* backwards: no block follows its own */
		put_at(map * p->block_size + 4 * (size_t)i, at + n_blocks - 1 - i, 4);
	for (unsigned i = 0; i < n; i++)
		put_at((at + n_blocks - 1 - i / per) * p->block_size + i % per * 4, words[i], 4);
	image.n = (at + n_blocks) * p->block_size;
}

START_TEST(the_linkers_age)
{
	struct obj_slice s;

	build(&usual);
	s = must();
	ck_assert_str_eq(s.format, "pdb");
	ck_assert_str_eq(s.arch, "x86_64");
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_worth(s, "symbols=full debug=full");
	ck_assert_str_eq(s.module.code_id, "");
	ck_assert_uint_eq(s.n_types, 1);
	ck_assert_int_eq(s.types[0], FILETYPE_PDB);
	object_debug_id(&s, "3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
}
END_TEST

START_TEST(without_debug_information)
{
	static const uint32_t sizes[] = {0, UINT32_MAX, 63};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes) + 2; i++) {
		struct plan p = usual;
		struct obj_slice s;

		if (i < ARRAY_SIZE(sizes))
			p.dbi_size = sizes[i];
		else
			p.streams = i - 1; /* 2 or 3 */
		build(&p);
		s = must();
		object_debug_id(&s, "3249d99d-0c40-4931-8610-f4e4fb0b6936-4");
		ck_assert_str_eq(s.arch, "unknown");
	}
	build(&usual);
	put_at(12 * 4096, 5, 4); /* a header of before 1999 */
	has_debug_id("3249d99d-0c40-4931-8610-f4e4fb0b6936-4");
}
END_TEST

START_TEST(machines)
{
	static const struct {
		uint32_t machine;
		const char *arch;
	} rows[] = {{0x14c, "x86"}, {0x1c0, "arm"}, {0x1c4, "arm"}, {0xaa64, "arm64"},
		{0xa641, "arm64"}, {0, "unknown"}, {0x200, "unknown"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan p = usual;
		struct obj_slice s;

		p.machine = rows[i].machine;
		build(&p);
		s = must();
		ck_assert_str_eq(s.arch, rows[i].arch);
		ck_assert_int_eq(s.worth.unwind, p.machine == 0x14c);
	}
}
END_TEST

START_TEST(block_sizes)
{
	for (unsigned size = 512; size <= 32768; size *= 2) {
		struct plan p = usual;

		p.block_size = size;
		p.old_size = 100 * size;
		build(&p);
		has_debug_id("3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
	}
}
END_TEST

/* So many streams that the directory has many blocks, and the list of these more than one; or one
 * stream that is so long. */
START_TEST(large_directories)
{
	for (unsigned i = 0; i < 4; i++) {
		struct plan p = usual;

		p.block_size = 512;
		p.streams = i & 1 ? 40000 : 5;
		p.old_size = i & 2 ? 512 * 40000 : 0;
		build(&p);
		has_debug_id("3249d99d-0c40-4931-8610-f4e4fb0b6936-1");
	}
}
END_TEST

START_TEST(a_time_for_a_guid)
{
	struct plan p = usual;
	struct obj_slice s;
	struct err e;

	p.info_version = 19970604;
	p.info_size = 12;
	build(&p);
	s = must();
	object_debug_id(&s, "418E89C3-1");
	ck_assert_int_eq(check(FILETYPE_PDB, "418E89C31", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PDB, "418E89C41", &e), -EBADMSG);
}
END_TEST

START_TEST(ages)
{
	struct plan p = usual;
	struct err e;

	p.dbi_age = 3;
	build(&p);
	ck_assert_int_eq(check(FILETYPE_PDB, "3249D99D0C4049318610F4E4FB0B69363", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PDB, "3249d99d0c4049318610f4e4fb0b69361", &e), 1);
	ck_assert_int_eq(check(FILETYPE_PDB, "3249D99D0C4049318610F4E4FB0B69364", &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is debug id 3249D99D0C4049318610F4E4FB0B69363, not "
		"3249D99D0C4049318610F4E4FB0B69364");
	ck_assert_int_eq(check(FILETYPE_PDB, "3249D99D0C4049318610F4E4FB0B69373", &e), -EBADMSG);
	ck_assert_int_eq(check(FILETYPE_PORTABLEPDB, "3249D99D0C4049318610F4E4FB0B6936ffffffff", &e),
		-EBADMSG);
	ck_assert_str_eq(e.text, "is pdb, not portablepdb");
	ck_assert(obj_may_be(FILETYPE_PDB, image.p, OBJ_HEAD));
	ck_assert(!obj_may_be(FILETYPE_ELF_DEBUG, image.p, OBJ_HEAD));
}
END_TEST

START_TEST(lies)
{
	build(&usual);
	put_at(32, 4095, 4);
	broken("blocks of 4095 bytes");
	put_at(32, 131072, 4);
	broken("blocks of");
	put_at(32, 0, 4);
	broken("blocks of");
	build(&usual);
	put_at(40, 100, 4);
	broken("is cut short: it has 73728 bytes, and needs 409600");
	build(&usual);
	put_at(17 * 4096 + 36, 18, 4);
	broken("a stream is in block 18 of 18");
	build(&usual);
	put_at(44, 0, 4);
	broken("no stream directory");
	put_at(44, 8, 4);
	broken("too short");
	build(&usual);
	put_at(52, 18, 4);
	broken("its stream directory is in block 18 of 18");
	build(&usual);
	put_at(16 * 4096, 0, 4);
	broken("its stream directory is in block 0 of 18");
	build(&usual);
	put_at(17 * 4096 + 8, 11, 4); /* the size of stream 1 */
	broken("no stream with an identity");
	put_at(17 * 4096 + 8, 27, 4);
	broken("cut short");
	put_at(17 * 4096 + 4, 0xfffffffe, 4); /* the size of stream 0 */
	broken("too short");
	put_at(17 * 4096, 0xffffffff, 4);
	broken("too short");
}
END_TEST

START_TEST(every_field)
{
	build(&usual);
	every_lie(32, 56);
	every_lie(16 * 4096, 16 * 4096 + 4);
	every_lie(17 * 4096, 17 * 4096 + 64);
	every_lie(8 * 4096, 8 * 4096 + 32);
	every_lie(12 * 4096, 12 * 4096 + 64);
}
END_TEST

START_TEST(parts)
{
	struct plan p = usual;

	p.block_size = 512;
	p.streams = 200;
	build(&p);
	every_cut(31);
	object_prefixes_agree(image.p, image.n, NULL, 0);
}
END_TEST

/* Another build is known before the file is whole, once its first streams are here. */
START_TEST(refused_early)
{
	struct key k = {.type = FILETYPE_PDB, .id = "4249D99D0C4049318610F4E4FB0B69361"};
	struct obj_slice s;
	struct err e = {0};
	struct view v;

	build(&usual);
	v = view_of_mem(image.p, image.n);
	v.size = VIEW_UNKNOWN;
	v.have = image.n - 1024;
	ck_assert_int_eq(obj_check(&v, &k, &s, &e), -EBADMSG);
	k.id[0] = '3';
	ck_assert_int_eq(obj_check(&v, &k, &s, &e), -EAGAIN);
}
END_TEST

/* What the linker left out, by a flag of stream 3 and by a word at the end of stream 1. */
START_TEST(worth)
{
	static const struct {
		unsigned flags;
		uint32_t word, machine;
		const char *worth;
	} rows[] = {
		{0, 0, 0x8664, "symbols=full debug=full"},
		{1, 20140508, 0x14c, "symbols=full debug=full unwind"},
		{2, 0, 0x8664, "symbols=dynamic"},
		{0, 0x494e494d, 0x8664, "symbols=dynamic debug=lines"},
		{3, 0x494e494d, 0x8664, "symbols=dynamic"},
	};
	static const uint32_t sizes[] = {64, 511, 512, 514, 600};

	for (unsigned i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(sizes); i++) {
		struct plan p = usual;
		uint32_t size = sizes[i / ARRAY_SIZE(rows)];
		struct obj_slice s;

		p.block_size = 512;
		p.info_size = size;
		p.machine = rows[i % ARRAY_SIZE(rows)].machine;
		build(&p);
		put_at(12 * 512 + 56, rows[i % ARRAY_SIZE(rows)].flags, 2);
		put_at(8 * 512 + size - 8, rows[i % ARRAY_SIZE(rows)].word, 4);
		s = must();
		ck_assert_worth(s, rows[i % ARRAY_SIZE(rows)].worth);
	}
}
END_TEST

UNIT_MAIN("pdb", the_linkers_age, without_debug_information, machines, block_sizes,
	large_directories, a_time_for_a_guid, ages, lies, every_field, parts,
	refused_early, worth)

/* Tests formats/obj/wasm.c on modules built in memory: the two ways to write a build id, kinds, numbers
 * that are too long, files of which only the beginning is present. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"
#include "worths.h"

#define ID "da03eb5d63d750faab0fb8e7cc12a1c3"

static const uint8_t id[64] = {0xda, 0x03, 0xeb, 0x5d, 0x63, 0xd7, 0x50, 0xfa, 0xab, 0x0f, 0xb8, 0xe7,
	0xcc, 0x12, 0xa1, 0xc3, 0x11, 0x22, 0x33, 0x44};

struct image {
	uint8_t p[4096];
	size_t n;
};

static void bytes(struct image *m, const void *p, size_t n)
{
	memcpy(m->p + m->n, p, n);
	m->n += n;
}

static void begin(struct image *m)
{
	memset(m, 0, sizeof(*m));
	bytes(m, "\0asm\1\0\0\0", 8);
}

/* A section of fewer than 128 bytes. */
static void section(struct image *m, unsigned type, const char *name, const void *p, size_t n)
{
	size_t name_n = name ? strlen(name) + 1 : 0;
	uint8_t head[3] = {(uint8_t)type, (uint8_t)(name_n + n), (uint8_t)(name_n - 1)};

	bytes(m, head, name ? 3 : 2);
	if (name)
		bytes(m, name, name_n - 1);
	bytes(m, p, n);
}

static void module_with(struct image *m, const void *p, size_t n)
{
	begin(m);
	section(m, 10, NULL, "\1\2\0\x0b", 4);
	section(m, 0, "name", "x", 1);
	section(m, 0, "build_id", p, n);
}

static struct image image;

START_TEST(both_ways_to_write_an_id)
{
	uint8_t counted[21] = {16};
	struct key has[OBJ_KEYS_MOST];
	struct obj_slice s;

	module_with(&image, id, 16);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, ID);
	object_debug_id(&s, "da03eb5d-63d7-50fa-ab0f-b8e7cc12a1c3");
	ck_assert_str_eq(s.format, "wasm");
	ck_assert_str_eq(s.arch, "wasm32");
	memcpy(counted + 1, id, 16);
	module_with(&image, counted, 17);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, ID);
	counted[0] = 20;
	memcpy(counted + 1, id, 20);
	module_with(&image, counted, 21);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, ID "11223344");
	object_debug_id(&s, "da03eb5d-63d7-50fa-ab0f-b8e7cc12a1c3");
	/* Who makes a UUID of it finds the file by that, too. */
	ck_assert_uint_eq(obj_keys(&s, has), 2 * s.n_types);
	ck_assert_str_eq(has[0].id, ID "11223344");
	ck_assert_str_eq(has[1].id, ID);
	/* sixteen bytes are a UUID, though the first could count the rest */
	counted[0] = 15;
	module_with(&image, counted, 16);
	s = object_must(image.p, image.n, 0);
	ck_assert_uint_eq(strlen(s.module.code_id), 32);
}
END_TEST

START_TEST(no_id)
{
	struct obj_slice s;

	module_with(&image, "", 0);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, "");
	module_with(&image, "\0", 1);
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, "");
	module_with(&image, "\2\7\7", 3); /* too short for a debug id */
	s = object_must(image.p, image.n, 0);
	ck_assert_str_eq(s.module.code_id, "0707");
	ck_assert(debug_id_is_nil(&s.module.debug_id));
	module_with(&image, id, 64);
	s = object_must(image.p, image.n, 0);
	ck_assert_uint_eq(strlen(s.module.code_id), 128);
}
END_TEST

START_TEST(kinds)
{
	struct obj_slice s;

	module_with(&image, id, 16);
	s = object_must(image.p, image.n, 0);
	ck_assert_int_eq(s.kind, OBJ_LIBRARY);
	ck_assert_worth(s, "symbols=full");
	ck_assert(s.code);
	ck_assert_int_eq(s.n_types, 2);
	begin(&image);
	section(&image, 10, NULL, "\1\2\0\x0b", 4);
	s = object_must(image.p, image.n, 0);
	ck_assert(object_serves(&s, FILETYPE_WASM_CODE) && !object_serves(&s, FILETYPE_WASM_DEBUG));
	begin(&image);
	section(&image, 0, ".debug_info", "x", 1);
	section(&image, 0, "build_id", id, 16);
	s = object_must(image.p, image.n, 0);
	ck_assert_int_eq(s.kind, OBJ_DEBUG);
	ck_assert_worth(s, "debug=full");
	ck_assert(!object_serves(&s, FILETYPE_WASM_CODE) && object_serves(&s, FILETYPE_WASM_DEBUG));
}
END_TEST

/* With the length byte in front, as others ask for it, and cut to a UUID. */
START_TEST(keys)
{
	static const char *const good[] = {(ID "11223344"), ("14" ID "11223344"), ID,
		"14da03eb5d63d750faab0fb8e7cc12a1", "DA03EB5D63D750FAAB0FB8E7CC12A1C311223344"};
	static const char *const bad[] = {("10" ID "11223344"), (ID "11223345"), "da03eb5d", ("14" ID),
		"00000000000000000000000000000000"};
	struct obj_slice s;
	struct err e;

	module_with(&image, id, 20);
	for (unsigned i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_WASM_CODE, good[i], &s, &e), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_WASM_DEBUG, bad[i], &s, &e),
			-EBADMSG);
	ck_assert_int_eq(object_check(image.p, image.n, FILETYPE_BREAKPAD, ID "0", &s, &e), -EBADMSG);
	ck_assert_str_eq(e.text, "is wasm, not breakpad");
}
END_TEST

START_TEST(broken)
{
	uint8_t long_id[66] = {0};

	module_with(&image, id, 16);
	object_broken(image.p, image.n - 1, "cut short");
	object_broken(image.p, 7, "cut short");
	image.p[4] = 0x0d;
	object_broken(image.p, image.n, "not a module of version 1");
	module_with(&image, long_id, 66);
	object_broken(image.p, image.n, "66 bytes");
	begin(&image);
	bytes(&image, "\1\xff\xff\xff\xff\x7f", 6);
	object_broken(image.p, image.n, "more than 32 bits");
	begin(&image);
	bytes(&image, "\1\x80\x80\x80\x80\x80\0", 7);
	object_broken(image.p, image.n, "more than 32 bits");
	begin(&image);
	bytes(&image, "\0\2\5a", 4);
	object_broken(image.p, image.n, "a name ends behind its section");
	begin(&image);
	bytes(&image, "\0\0", 2);
	object_broken(image.p, image.n, "a number ends behind its section");
	begin(&image);
	bytes(&image, "\1\xff\xff\xff\xff\xf", 6);
	object_broken(image.p, image.n, "a section ends at");
}
END_TEST

/* 65,536 empty sections: the walk is given up. */
START_TEST(endless)
{
	static uint8_t p[8 + (2 << 16) + 2] = "\0asm\1\0\0\0";

	for (size_t i = 8; i < sizeof(p); i += 2)
		p[i] = 1;
	object_broken(p, sizeof(p), "more than 65536 sections");
}
END_TEST

START_TEST(hostile_and_in_part)
{
	struct key k = {.type = FILETYPE_WASM_CODE, .id = ID};

	module_with(&image, id, 16);
	ck_assert_uint_gt(object_hostile(image.p, image.n, 1), 20);
	module_with(&image, id, 16);
	object_prefixes_agree(image.p, image.n, NULL, 0);
	object_prefixes_agree(image.p, image.n, &k, 0);
}
END_TEST

UNIT_MAIN("wasm", both_ways_to_write_an_id, no_id, kinds, keys, broken, endless, hostile_and_in_part)

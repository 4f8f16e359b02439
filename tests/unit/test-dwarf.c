/* Tests formats/dwarf/file.c and formats/dwarf/split.c: which units can refer to others, memory that is given back,
 * and packages of split units whose index is broken. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/bytes.h"
#include "formats/dwarf/dwarf.h"
#include "formats/dwarf/split.h"
#include "unit.h"

#include <string.h>
#include <sys/mman.h>

/* A table of one abbreviation with two attributes: a name (strp) and a type (ref4), and an empty table. */
static const uint8_t plain[] = {1, 0x34, 0, 0x03, 0x0e, 0x49, 0x13, 0, 0, 0, 0};

static bool apart(const void *tables, size_t n, uint64_t unit)
{
	struct dwarf_head head = {.abbrevs = unit};
	struct dwarf_file f = {.units = &head, .n_units = 1};
	void *own = malloc(n + 1); /* of its own size, for the sanitizer */
	bool is;

	ck_assert_ptr_nonnull(own);
	memcpy(own, tables, n);
	f.s[DWARF_ABBREV] = (struct span){own, n};
	is = dwarf_units_are_apart(&f);
	free(own);
	return is;
}

START_TEST(units_apart)
{
	uint8_t t[sizeof(plain)];

	ck_assert(apart(plain, sizeof(plain), 0));
	ck_assert(apart(plain, sizeof(plain), 10));
	ck_assert(apart(plain, sizeof(plain), 4000)); /* no table: the unit is not read */
	ck_assert(!apart(plain, sizeof(plain), 3));  /* within a table */
	for (size_t cut = 1; cut < 9; cut++)
		ck_assert(!apart(plain, cut, 0));
	memcpy(t, plain, sizeof(t));
	t[6] = 0x10; /* DW_FORM_ref_addr */
	ck_assert(!apart(t, sizeof(t), 0));
	t[6] = 0x16; /* DW_FORM_indirect */
	ck_assert(!apart(t, sizeof(t), 0));
	/* The value of DW_FORM_implicit_const lies in the table. */
	ck_assert(apart("\1\x34\0\x3b\x21\x10\0\0\0", 9, 0));
	ck_assert(!apart("\1\x34\0\x3b\x21\x10\x49\x10\0\0\0", 11, 0));
}
END_TEST

START_TEST(spent)
{
	size_t n = 16u << 20;
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dwarf_file f = {.mapped = {[DWARF_INFO] = n}};

	ck_assert(p != MAP_FAILED);
	memset(p, 7, n);
	f.s[DWARF_INFO] = (struct span){p, n};
	dwarf_spend(&f, 1000);
	ck_assert_int_eq(p[0], 7); /* too few bytes */
	dwarf_spend(&f, (9u << 20) + 10);
	ck_assert_int_eq(p[0], 0);
	ck_assert_int_eq(p[(9u << 20) - 1], 0);
	ck_assert_int_eq(p[9u << 20], 7);
	dwarf_spend(&f, n);
	ck_assert_int_eq(p[n - 1], 0);
	/* A section that lies in the file stays as it is. */
	memset(p, 7, n);
	f.mapped[DWARF_INFO] = f.spent = 0;
	dwarf_spend(&f, n);
	ck_assert_int_eq(p[0], 7);
	munmap(p, n);
}
END_TEST

/* ---- packages ------------------------------------------------------------------------------- */

#define ID 0x1122334455667788ull

/* A split unit of DWARF 5 and its abbreviation: a compile unit without attributes. */
static const uint8_t unit[] = {17, 0, 0, 0, 5, 0, 5, 8, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22,
	0x11, 1};
static const uint8_t abbrevs[] = {1, 0x11, 0, 0, 0, 0};

enum { COLUMNS = 1, UNITS = 2, SLOTS = 3, IDS = 4, ROWS = 8, OFFSETS = 12, SIZES = 14, WORDS = 16 };

/* An index with two slots and one unit, which has all of .debug_info.dwo and .debug_abbrev.dwo. */
static const uint32_t index_words[WORDS] = {5, 2, 1, 2, ID & UINT32_MAX, ID >> 32, 0, 0, 1, 0, 1, 3, 0, 0,
	sizeof(unit), sizeof(abbrevs)};

static int open_unit(struct span info, struct span index, uint64_t id)
{
	struct dwarf_file f = {.swap = HOST_BIG};
	struct dwarf_reader r = {0};
	struct dwarf_split s;
	int result;

	f.s[DWARF_INFO] = info;
	f.s[DWARF_ABBREV] = (struct span){abbrevs, sizeof(abbrevs)};
	f.s[DWARF_CU_INDEX] = index;
	ck_assert_int_eq(dwarf_find_units(&f), 0);
	result = dwarf_split_of_package(&s, &r, &f, id);
	ck_assert(result < 0 || s.head->id == id);
	dwarf_close(&s.file);
	free(f.units);
	dwarf_reader_release(&r);
	return result;
}

/* In memory of its own size, for the sanitizer. */
static int open_indexed(const uint32_t words[static WORDS], size_t n)
{
	uint8_t *own = malloc(n);
	int r;

	ck_assert_ptr_nonnull(own);
	for (size_t i = 0; i < n; i++)
		own[i] = (uint8_t)(words[i / 4] >> i % 4 * 8);
	r = open_unit((struct span){unit, sizeof(unit)}, (struct span){own, n}, ID);
	free(own);
	return r;
}

START_TEST(packages)
{
	static const struct {
		unsigned word;
		uint32_t value;
		int result;
	} rows[] = {
		{0, 2, 0}, {0, 3, -EBADMSG}, {COLUMNS, 0, -EBADMSG}, {COLUMNS, 17, -EBADMSG}, {COLUMNS, 3, -EBADMSG},
		{COLUMNS, UINT32_MAX, -EBADMSG}, {UNITS, 2, -EBADMSG}, {UNITS, UINT32_MAX, -EBADMSG},
		{UNITS, 0x20000000, -EBADMSG}, {UNITS, 0, -EBADMSG}, {SLOTS, 0, -EBADMSG}, {SLOTS, 3, -EBADMSG},
		{SLOTS, 0x80000000, -EBADMSG}, {SLOTS, 4, -EBADMSG}, {IDS, 1, -ENOENT}, {ROWS, 0, -ENOENT},
		{ROWS, 2, -EBADMSG}, {ROWS, UINT32_MAX, -EBADMSG}, {OFFSETS, 1, -EBADMSG},
		{OFFSETS, UINT32_MAX, -EBADMSG}, {SIZES, sizeof(unit) + 1, -EBADMSG}, {SIZES, UINT32_MAX, -EBADMSG},
		{SIZES, sizeof(unit) - 1, -ENOENT}, {SIZES, 0, -ENOENT}, {OFFSETS + 1, 1, -EBADMSG},
		{SIZES + 1, UINT32_MAX, -EBADMSG}, {10, 99, -ENOENT}, {10, 0, -ENOENT}, {11, UINT32_MAX, 0},
	};

	ck_assert_int_eq(open_indexed(index_words, sizeof(index_words)), 0);
	for (size_t n = 1; n < sizeof(index_words); n++)
		ck_assert_int_eq(open_indexed(index_words, n), -EBADMSG);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t t[WORDS];
		int r;

		memcpy(t, index_words, sizeof(t));
		t[rows[i].word] = rows[i].value;
		r = open_indexed(t, sizeof(t));
		ck_assert_msg(r == rows[i].result, "word %u, 0x%x: %d", rows[i].word, rows[i].value, r);
	}
}
END_TEST

START_TEST(full_slots) /* a search in which no slot is empty ends */
{
	uint32_t t[WORDS];

	memcpy(t, index_words, sizeof(t));
	t[IDS] = t[ROWS + 1] = 1;
	ck_assert_int_eq(open_indexed(t, sizeof(t)), -ENOENT);
}
END_TEST

START_TEST(no_index)
{
	uint8_t two[2 * sizeof(unit)];

	memcpy(two, unit, sizeof(unit));
	memcpy(two + sizeof(unit), unit, sizeof(unit));
	ck_assert_int_eq(open_unit((struct span){unit, sizeof(unit)}, (struct span){0}, ID), 0);
	ck_assert_int_eq(open_unit((struct span){unit, sizeof(unit)}, (struct span){0}, 1), -ENOENT);
	ck_assert_int_eq(open_unit((struct span){0}, (struct span){0}, ID), -ENOENT);
	/* Two compile units need an index; beside type units the only one is found. */
	ck_assert_int_eq(open_unit((struct span){two, sizeof(two)}, (struct span){0}, ID), -ENOENT);
	two[6] = 6; /* DW_UT_split_type */
	ck_assert_int_eq(open_unit((struct span){two, sizeof(two)}, (struct span){0}, ID), 0);
}
END_TEST

UNIT_MAIN("dwarf", units_apart, spent, packages, full_slots, no_index)

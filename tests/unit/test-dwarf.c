/* Tests dwarf/spent.c: which units can refer to others, and memory that is given back. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "dwarf/dwarf.h"
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

UNIT_MAIN("dwarf", units_apart, spent)

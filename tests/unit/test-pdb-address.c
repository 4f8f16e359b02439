/* Tests formats/pdb/address.c on an image that was rearranged after linking. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/pdb.h"
#include "unit.h"

/* Two parts of a function, with inserted bytes and another function between them. */
static struct pdb_moved moved[] = {
	{.target = 0x1000, .source = 0x5000, .size = 0x20},
	{.target = 0x1030, .source = 0x9000, .size = 0x10},
	{.target = 0x1050, .source = 0x5020, .size = 0x20},
};

START_TEST(sources)
{
	struct pdb p = {.moved = moved, .n_moved = 3};
	uint32_t source;

	ck_assert(pdb_source(&p, 0x1034, &source));
	ck_assert_uint_eq(source, 0x9004);
	ck_assert(!pdb_source(&p, 0xfff, &source));
	ck_assert(!pdb_source(&p, 0x1020, &source));
	ck_assert(!pdb_source(&p, 0x1070, &source));
}
END_TEST

START_TEST(inserted)
{
	struct pdb p = {.moved = moved, .n_moved = 3}, whole = {0};

	ck_assert(pdb_inserted(&p, 0x1020, 0x1030));
	ck_assert(pdb_inserted(&p, 0x1040, 0x1050));
	ck_assert(pdb_inserted(&p, 0x1070, 0x2000));
	ck_assert(pdb_inserted(&p, 0x1010, 0x1010)); /* no bytes */
	ck_assert(!pdb_inserted(&p, 0x1020, 0x1031));
	ck_assert(!pdb_inserted(&p, 0x1020, 0x1050)); /* the other function is between them */
	ck_assert(!pdb_inserted(&p, 0x101f, 0x1030));
	ck_assert(!pdb_inserted(&p, 0x1030, 0x1020));
	ck_assert(!pdb_inserted(&whole, 0x1020, 0x1030));
}
END_TEST

UNIT_MAIN("pdb-address", sources, inserted)

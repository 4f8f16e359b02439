/* Tests base/inflate.c: streams written by hand, truncated streams, and results larger than the
 * room for them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"
#include "unit.h"

#include <string.h>

/* One block of five stored bytes, and one of 300 times 'a'. */
static const uint8_t stored[] = {1, 5, 0, 0xfa, 0xff, 'h', 'e', 'l', 'l', 'o'};
static const uint8_t squeezed[] = {0x4b, 0x4c, 0x1c, 0x05, 0xc4, 0x02, 0x00};

START_TEST(whole)
{
	char out[512];
	size_t n;

	ck_assert_int_eq(inflate_raw(stored, sizeof(stored), out, sizeof(out), &n), 0);
	ck_assert_uint_eq(n, 5);
	ck_assert_mem_eq(out, "hello", 5);
	ck_assert_int_eq(inflate_raw(stored, sizeof(stored), out, 5, &n), 0);
	ck_assert_int_eq(inflate_raw(squeezed, sizeof(squeezed), out, sizeof(out), &n), 0);
	ck_assert_uint_eq(n, 300);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(out[i], 'a');
}
END_TEST

START_TEST(not_whole)
{
	char out[512];
	size_t n;

	for (size_t cut = 0; cut < sizeof(squeezed); cut++)
		ck_assert_int_eq(inflate_raw(squeezed, cut, out, sizeof(out), &n), -EBADMSG);
	ck_assert_int_eq(inflate_raw("\7", 1, out, sizeof(out), &n), -EBADMSG);
	ck_assert_int_eq(inflate_raw(stored, sizeof(stored), out, 4, &n), -EFBIG);
	ck_assert_int_eq(inflate_raw(squeezed, sizeof(squeezed), out, 299, &n), -EFBIG);
}
END_TEST

UNIT_MAIN("inflate", whole, not_whole)

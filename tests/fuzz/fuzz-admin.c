/* Fuzzes the parser of 000Admin: any bytes, cut anywhere, terminate, and the same bytes mean the
 * same in one piece and in two. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "source/admin.h"

#include <stdlib.h>

static bool read_in(struct admin_index *ix, const uint8_t *p, size_t n, size_t cut)
{
	if (admin_feed(ix, (const char *)p, cut) < 0 ||
		admin_feed(ix, (const char *)p + cut, n - cut) < 0)
		return false;
	return admin_end(ix);
}

FUZZ_TARGET("admin", p, n)
{
	struct admin_index *one, *two, *copy;
	unsigned last;

	if (admin_new(&one) < 0 || admin_new(&two) < 0)
		return 0;
	if (read_in(one, p, n, n) != read_in(two, p, n, n / 2) || admin_count(one) != admin_count(two))
		abort();
	if (admin_copy(&copy, one) == 0) {
		if (admin_count(copy) != admin_count(one))
			abort();
		admin_unref(copy);
	}
	/* What was saved may be any bytes, too. */
	if (admin_load(&copy, p, n) == 0) {
		admin_name(copy, "A.dll");
		admin_case(copy, "A.dll/1/A.dll");
		admin_unref(copy);
	}
	if (admin_lastid((const char *)p, n, &last) == 0 && last > ADMIN_SEGMENTS_MOST)
		abort();
	admin_unref(one);
	admin_unref(two);
	return 0;
}

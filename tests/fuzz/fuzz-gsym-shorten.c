/* Fuzzes the shortening of C++ names: a shortened name is shorter than the input, and is the same
 * each time. If there is nothing to leave out, the result is empty. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/shorten.h"
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

FUZZ_TARGET("gsym-shorten", p, n)
{
	struct buf one = BUF_UP_TO(1 << 16), two = BUF_UP_TO(1 << 16);
	int r = shorten_cpp((const char *)p, n, &one);

	must(r == (one.n > 0), "something is added when there was nothing to leave out");
	must(one.n < n || !r, "it is not shorter");
	must(shorten_cpp((const char *)p, n, &two) == r && one.n == two.n &&
			!memcmp(buf_text(&one), buf_text(&two), one.n), "it is another name now");
	buf_release(&one);
	buf_release(&two);
	return 0;
}

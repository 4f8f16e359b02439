/* Fuzzes the names of methods in the metadata of .NET programs. A name has a bounded length, and reading all names
 * ends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "derive/convert/method-names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_MOST (64u << 10)

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

FUZZ_TARGET("method-names", p, n)
{
	struct buf name = BUF_UP_TO(NAME_MOST);
	struct method_names *names;
	struct err e = {0};
	int r = method_names_open(&names, (struct span){p, n}, &e);

	must(r == 0 ? names != NULL : !names && e.text[0], "an error without words");
	for (uint32_t i = 1; r == 0 && i <= method_names_count(names); i++)
		r = method_names_next(names, i, &name);
	must(!names || r == 0 || r == -EFBIG || r == -ENOMEM, "an error of another kind");
	method_names_free(names);
	buf_release(&name);
	return 0;
}

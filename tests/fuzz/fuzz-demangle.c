/* Fuzzes the demangler with names, one a line: the result is text within its bound, or nothing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

FUZZ_TARGET("demangle", data, size)
{
	struct buf out = BUF_UP_TO(1 << 20);
	char *text = malloc(size + 1), *rest = text, *line;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n")))
		if (demangle(line, &out) != (out.n > 0) || out.n > 64 << 10)
			abort();
	buf_release(&out);
	free(text);
	return 0;
}

/* Fuzzes the demangler of Microsoft's names, with a name on each line: a result is text within its bound. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void try(const char *name, bool full)
{
	struct buf out = BUF_UP_TO(1 << 20);

	if (undname(name, full, &out) != (out.n > 0) || out.n > 64 << 10 || (out.n && strlen(out.p) != out.n))
		abort();
	buf_release(&out);
}

FUZZ_TARGET("undname", data, size)
{
	char *text = malloc(size + 1), *rest = text, *line;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		char *alone = strdup(line); /* a read past its end is found */

		if (!alone)
			abort();
		try(alone, true);
		try(alone, false);
		free(alone);
	}
	free(text);
	return 0;
}

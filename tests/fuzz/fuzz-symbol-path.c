/* Fuzzes the parser of _NT_SYMBOL_PATH: it terminates, and every name that it finds is part of the
 * text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "source/symbol-path.h"

#include <stdlib.h>
#include <string.h>

static int seen(void *ctx, const struct symbol_place *p)
{
	const char *whole = ctx;

	if ((p->kind == SYMBOL_DEFAULT) != (p->where[0] == '\0'))
		abort();
	if (!strstr(whole, p->where) || strpbrk(p->where, ";*"))
		abort();
	return 0;
}

FUZZ_TARGET("symbol-path", p, n)
{
	char *text = malloc(n + 1);

	if (!text)
		return 0;
	memcpy(text, p, n);
	text[n] = '\0';
	symbol_path_parse(text, seen, text);
	free(text);
	return 0;
}

/* Fuzzes the search for identifiers and paths in pasted text, and the form that a browser sends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "http/page/page.h"
#include "http/page/pasted.h"

#include <stdlib.h>
#include <string.h>

#define MOST 20

static void must(bool what)
{
	if (!what)
		abort();
}

/* Each identifier has digits only, and fits; each name is one component of a path. */
static void check_ids(const char *text)
{
	struct pasted_id ids[MOST];
	unsigned n = pasted_ids(text, ids, MOST);

	must(n <= MOST);
	for (unsigned i = 0; i < n; i++) {
		size_t digits = strspn(ids[i].id, "0123456789abcdefABCDEF");

		must(digits >= 8 && !ids[i].id[digits] && digits < sizeof(ids[i].id));
		must(strlen(ids[i].name) < sizeof(ids[i].name) && !strpbrk(ids[i].name, "/\\\n"));
	}
}

FUZZ_TARGET("pasted", p, n)
{
	char *text = malloc(n + 1), *value;
	char path[64];

	must(text != NULL);
	memcpy(text, p, n);
	text[n] = '\0';
	check_ids(text);
	pasted_is_long(text);
	if (pasted_path(text, path, sizeof(path)))
		must(strlen(path) < sizeof(path));
	value = page_form_value(text, "path");
	if (value)
		check_ids(value);
	free(value);
	free(text);
	return 0;
}

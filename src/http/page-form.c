/* Reads the fields of a form that a browser posts. Unlike the query of a URL, a value may have line ends. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "http/page.h"

#include <string.h>

/* Decodes n bytes in place of `out`, which has n + 1. A broken escape stays as it is; a NUL becomes a blank. */
static void decode(const char *text, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		int high = text[i] == '%' && i + 2 < n ? hex_value(text[i + 1]) : -1;
		int low = high >= 0 ? hex_value(text[i + 2]) : -1;
		char c = text[i] == '+' ? ' ' : text[i];

		if (low >= 0) {
			c = (char)(high << 4 | low);
			i += 2;
		}
		*out++ = c ? c : ' ';
	}
	*out = '\0';
}

char *page_form_value(const char *form, size_t n, const char *name)
{
	const char *end = form + n;
	size_t want = strlen(name);

	while (form < end) {
		const char *stop = memchr(form, '&', (size_t)(end - form));
		size_t len = stop ? (size_t)(stop - form) : (size_t)(end - form);

		if (len > want && form[want] == '=' && memcmp(form, name, want) == 0) {
			char *out = malloc(len - want);

			if (out)
				decode(form + want + 1, len - want - 1, out);
			return out;
		}
		form += len + 1;
	}
	return NULL;
}

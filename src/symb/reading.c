/* Reads JSON values of a request, and grows the lists that hold them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/reading.h"
#include "base/util.h"

#include <string.h>

int reading_no_memory(struct reading *r)
{
	return err_set(r->e, 500, "%s", err_text(ENOMEM));
}

int reading_too_many(struct reading *r, const char *what, unsigned most)
{
	return err_set(r->e, 413, "please limit number of %s in a single request to <= %u", what, most);
}

int reading_grow(void *list, size_t *room, size_t n, size_t size)
{
	size_t want = *room ? *room * 2 : 16;
	void *p;

	if (n < *room)
		return 0;
	p = realloc(*(void **)list, want * size);
	if (!p)
		return -ENOMEM;
	*(void **)list = p;
	*room = want;
	return 0;
}

bool reading_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room)
{
	uint32_t t = jtext_member(r->j, object, name);

	out[0] = '\0';
	if (!t || kind_of(r, t) == JTEXT_NULL)
		return true;
	return kind_of(r, t) == JTEXT_STRING && jtext_string(r->j, t, out, room) >= 0;
}

bool reading_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out)
{
	uint32_t t = jtext_member(r->j, object, name);
	char text[32];
	bool minus;
	int n;

	if (t && kind_of(r, t) == JTEXT_NUMBER)
		return jtext_integer(r->j, t, &minus, out) == 0 && !minus;
	if (!t || kind_of(r, t) != JTEXT_STRING)
		return false;
	n = jtext_string(r->j, t, text, sizeof(text));
	if (n < 3 || n > 18 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return false;
	*out = 0;
	for (const char *c = text + 2; *c; c++) {
		if (!is_hex(*c))
			return false;
		*out = *out << 4 | (uint64_t)hex_value(*c);
	}
	return true;
}

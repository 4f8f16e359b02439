/* Helpers of the recognizers of JSON documents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

#include <stdlib.h>
#include <string.h>

bool document_read(struct jtext *j, const struct recognized *r, size_t at, size_t n)
{
	struct span text = {r->text.p + at, n};

	return jtext_read(j, text, DOCUMENT_TOKENS, NULL) == 0 && j->text.p == text.p &&
		j->token[0].kind == JTEXT_OBJECT;
}

struct cursor document_word(const struct jtext *j, uint32_t object, const char *name)
{
	uint32_t t = jtext_member(j, object, name);
	const char *p = (const char *)j->text.p;

	if (!t || j->token[t].kind != JTEXT_STRING ||
		(j->token[t].len && memchr(p + j->token[t].at, '\\', j->token[t].len)))
		return (struct cursor){0};
	return (struct cursor){p + j->token[t].at, p + j->token[t].at + j->token[t].len};
}

bool document_number(const struct jtext *j, uint32_t object, const char *name, uint64_t *out)
{
	struct cursor c = document_word(j, object, name);

	if (cursor_left(&c))
		return cursor_hex(&c, out) && !cursor_left(&c);
	return jtext_get_number(j, object, name, out);
}

uint32_t document_member(const struct jtext *j, uint32_t object, const char *name, enum jkind kind)
{
	uint32_t t = j->token[object].kind == JTEXT_OBJECT ? jtext_member(j, object, name) : 0;

	return t && j->token[t].kind == kind ? t : 0;
}

static int by_place(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

void document_sort(struct recognized *r)
{
	if (r->n_frames)
		qsort(r->frames, r->n_frames, sizeof(r->frames[0]), by_place);
}

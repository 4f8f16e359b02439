/* Writes the copy of a file into which GSYM is embedded: the functions that all formats call. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/embed-private.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

void embed_zeros(struct embed *x, uint64_t n)
{
	static const uint8_t zeros[4096];

	for (; x->out->r == 0 && n; n -= MIN(n, sizeof(zeros)))
		buf_add(x->out, zeros, MIN(n, sizeof(zeros)));
}

void embed_pad(struct embed *x, uint64_t align)
{
	embed_zeros(x, (align - x->out->n % align) % align);
}

void embed_copy(struct embed *x, const struct embed_gap gaps[2], uint64_t n)
{
	const uint8_t *p = x->m.file.p;
	uint64_t at = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t to = MIN(gaps[i].at, n);

		if (to < at)
			continue;
		buf_add(x->out, p + at, to - at);
		embed_zeros(x, gaps[i].n);
		at = to;
	}
	buf_add(x->out, p + at, n - at);
}

void embed_set(const struct embed *x, uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (x->m.big ? n - 1 - i : i));
}

bool embed_is_zero(const struct embed *x, uint64_t from, uint64_t to)
{
	for (; from < to && from < x->m.file.n; from++)
		if (x->m.file.p[from])
			return false;
	return from >= to;
}

int embed_write(struct embed *x, const struct image_section *host, const char *own, struct err *e)
{
	char name[32];
	int r;

	snprintf(name, sizeof(name), "%.*s", host ? (int)host->name_len : (int)strlen(own),
		host ? host->name : own);
	gsym_share(x->w, host ? host->bytes : (struct span){0});
	r = gsym_write(x->w, GSYM_SECT0, x->m.big, name, &x->main, &x->strings, e);
	gsym_share(x->w, (struct span){0});
	return r;
}

/* Finds strings in an existing section, so that they need not be written again. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/share.h"
#include "base/util.h"

#include <errno.h>
#include <string.h>

static size_t hash(const char *p)
{
	uint64_t h = 14695981039346656037ull;

	for (; *p; p++)
		h = (h ^ (uint8_t)*p) * 1099511628211ull;
	return (size_t)(h ^ h >> 29);
}

static const char *text_at(const struct shared *s, uint32_t at)
{
	return (const char *)s->all.p + at;
}

static void add(struct shared *s, uint32_t at)
{
	size_t i = hash(text_at(s, at)) & (s->room - 1);

	for (; s->slot[i]; i = (i + 1) & (s->room - 1))
		if (strcmp(text_at(s, s->slot[i]), text_at(s, at)) == 0)
			return;
	s->slot[i] = at;
}

int shared_open(struct shared *s, struct span all)
{
	size_t count = 0;

	memset(s, 0, sizeof(*s));
	if (all.n > UINT32_MAX)
		return -EFBIG;
	for (const uint8_t *p = all.p, *end = all.p + all.n; p < end; count++)
		p = (const uint8_t *)memchr(p, 0, (size_t)(end - p)) + 1;
	for (s->room = 16; s->room < 2 * count;)
		s->room *= 2;
	s->slot = calloc(s->room, sizeof(*s->slot));
	if (!s->slot)
		return -ENOMEM;
	s->all = all;
	for (size_t at = 0; at < all.n; at += strlen(text_at(s, (uint32_t)at)) + 1)
		if (at && all.p[at])
			add(s, (uint32_t)at);
	/* The NUL after the first text serves as an empty text. */
	s->empty = all.n ? (uint32_t)strlen(text_at(s, 0)) : 0;
	return 0;
}

uint32_t shared_find(const struct shared *s, const char *text)
{
	if (!s->room)
		return 0;
	for (size_t i = hash(text) & (s->room - 1); s->slot[i]; i = (i + 1) & (s->room - 1))
		if (strcmp(text_at(s, s->slot[i]), text) == 0)
			return s->slot[i];
	return 0;
}

void shared_close(struct shared *s)
{
	free(s->slot);
	memset(s, 0, sizeof(*s));
}

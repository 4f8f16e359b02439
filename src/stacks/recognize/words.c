/* Cursors on a line: the words that recognizers look for. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "stacks/recognize/private.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

bool cursor_text(struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	if (cursor_left(c) < n || memcmp(c->p, text, n) != 0)
		return false;
	c->p += n;
	return true;
}

bool cursor_hex(struct cursor *c, uint64_t *out)
{
	struct cursor at = *c;
	unsigned n = 0;

	cursor_text(&at, "0x");
	*out = 0;
	for (; at.p < at.end && hex_value(*at.p) >= 0; at.p++, n++)
		*out = *out << 4 | (uint64_t)hex_value(*at.p);
	if (n < 1 || n > 16)
		return false;
	*c = at;
	return true;
}

bool cursor_address(struct cursor *c, uint64_t *out)
{
	struct cursor at = *c;

	return cursor_text(&at, "0x") && at.p < at.end && hex_value(*at.p) >= 0 && cursor_hex(c, out);
}

bool cursor_decimal(struct cursor *c, uint64_t *out)
{
	const char *p = c->p;

	*out = 0;
	for (; p < c->end && is_decimal(*p); p++)
		*out = *out * 10 + (uint64_t)(*p - '0');
	if (p == c->p || p - c->p > 9)
		return false;
	c->p = p;
	return true;
}

size_t cursor_blanks(struct cursor *c)
{
	const char *p = c->p;

	while (c->p < c->end && is_blank(*c->p))
		c->p++;
	return (size_t)(c->p - p);
}

const char *cursor_find(const struct cursor *c, const char *text)
{
	return c->p < c->end ? memmem(c->p, cursor_left(c), text, strlen(text)) : NULL;
}

const char *cursor_find_last(const struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	for (size_t at = cursor_left(c) + 1; n <= cursor_left(c) && at-- > 0;)
		if (at + n <= cursor_left(c) && memcmp(c->p + at, text, n) == 0)
			return c->p + at;
	return NULL;
}

struct cursor cursor_trim(struct cursor c)
{
	cursor_blanks(&c);
	while (c.end > c.p && is_blank(c.end[-1]))
		c.end--;
	return c;
}

struct cursor cursor_until(struct cursor *c, const char *place)
{
	struct cursor part = {c->p, place};

	c->p = place;
	return cursor_trim(part);
}

bool cursor_is(const struct cursor *c, const char *text)
{
	return cursor_left(c) == strlen(text) && (c->p == c->end || memcmp(c->p, text, cursor_left(c)) == 0);
}

bool cursor_ends(const struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	return cursor_left(c) >= n && memcmp(c->end - n, text, n) == 0;
}

bool cursor_number(struct cursor *c, uint64_t *number)
{
	for (struct cursor at = *c; at.p < at.end && (at.p = memchr(at.p, '#', cursor_left(&at))); at.p++) {
		struct cursor word = {at.p + 1, at.end};

		if ((at.p == c->p || is_blank(at.p[-1])) && cursor_decimal(&word, number)) {
			*c = word;
			return true;
		}
	}
	return false;
}

bool cursor_has_line(const struct cursor *c)
{
	const char *p = c->end;

	while (p > c->p && is_decimal(p[-1]))
		p--;
	if (p == c->end || p <= c->p + 1 || p[-1] != ':')
		return false;
	return !is_blank(p[-2]);
}

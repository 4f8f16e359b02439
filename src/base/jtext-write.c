/* Writes JSON strings. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/utf8.h"
#include "base/util.h"

#include <string.h>

static bool is_plain(uint8_t c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static int add_odd(struct buf *b, const uint8_t **p, const uint8_t *end)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	unsigned char room[5] = {0};
	uint8_t c = **p;
	const char *at;
	unsigned n;

	if (c >= 0x80) {
		memcpy(room, *p, (size_t)MIN(end - *p, 4));
		n = utf8_length(room);
		*p += n ? n : 1;
		return n ? buf_add(b, room, n) : buf_addf(b, "\\\\x%02x", c);
	}
	(*p)++;
	at = c ? strchr(from, c) : NULL;
	return at ? buf_addf(b, "\\%c", to[at - from]) : buf_addf(b, "\\u%04x", c);
}

/* Whether one of eight bytes may not be plain. A subtraction sets the highest bit of a byte that is less than 0x20,
 * or equal to a quote, a backslash or 0x7f. It may also set that bit of a plain byte behind such a byte. */
static bool has_odd(uint64_t v)
{
	const uint64_t ones = 0x0101010101010101, tops = ones << 7;
	uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\', del = v ^ ones * 0x7f;

	return ((v - ones * ' ') | v | (quote - ones) | (slash - ones) | (del - ones)) & tops;
}

/* The number of plain bytes at the start. */
static size_t plain_bytes(const uint8_t *p, size_t n)
{
	size_t i = 0;
	uint64_t v;

	for (; n - i >= sizeof(v); i += sizeof(v)) {
		memcpy(&v, p + i, sizeof(v));
		if (has_odd(v))
			break;
	}
	if (n >= sizeof(v) && n - i < sizeof(v)) { /* the last eight bytes, some of them again */
		memcpy(&v, p + n - sizeof(v), sizeof(v));
		if (!has_odd(v))
			return n;
	}
	while (i < n && is_plain(p[i]))
		i++;
	return i;
}

/* Most strings are plain, and are copied at once. */
int jtext_add(struct buf *b, const char *text)
{
	const uint8_t *p = (const uint8_t *)text, *end;
	size_t n = strlen(text);
	int r = buf_fits(b, n + 2) ? 0 : buf_reserve(b, n + 2);

	if (r < 0)
		return r;
	end = p + n;
	b->p[b->n++] = '"';
	n = plain_bytes(p, n);
	memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
	p += n;
	if (p == end) { /* there is room, as reserved above */
		memcpy(b->p + b->n++, "\"", 2);
		return 0;
	}
	while (p < end) {
		size_t plain = plain_bytes(p, (size_t)(end - p));

		buf_add(b, p, plain);
		p += plain;
		if (p < end)
			add_odd(b, &p, end);
	}
	return buf_add(b, "\"", 1);
}

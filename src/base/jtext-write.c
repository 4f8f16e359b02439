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

int jtext_add(struct buf *b, const char *text)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
	int r = buf_add(b, "\"", 1);

	while (r == 0 && p < end) {
		const uint8_t *at = p;

		while (p < end && is_plain(*p))
			p++;
		r = buf_add(b, at, (size_t)(p - at));
		if (r == 0 && p < end)
			r = add_odd(b, &p, end);
	}
	return r < 0 ? r : buf_add(b, "\"", 1);
}

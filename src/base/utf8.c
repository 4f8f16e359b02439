/* Checks and writes the UTF-8 of one character, and makes text safe to show. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/utf8.h"

#include <stddef.h>
#include <string.h>

unsigned utf8_length(const unsigned char *p)
{
	unsigned n = p[0] < 0x80   ? 1
		     : p[0] < 0xc2 ? 0
		     : p[0] < 0xe0 ? 2
		     : p[0] < 0xf0 ? 3
		     : p[0] < 0xf5 ? 4
				   : 0;

	for (unsigned i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

unsigned utf8_put(uint32_t c, uint8_t out[static 4])
{
	if (c < 0x80)
		return out[0] = (uint8_t)c, 1;
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

const char *text_shown(const char *text, bool terminal, struct buf *room)
{
	const unsigned char *p = (const unsigned char *)text;

	buf_clear(room);
	while (*p) {
		unsigned n = utf8_length(p);
		bool control = *p < ' ' || *p == 0x7f || (*p == 0xc2 && n == 2 && p[1] < 0xa0);

		if (n && !(control && terminal)) {
			if (buf_add(room, p, n) < 0)
				break;
			p += n;
		} else if (buf_addf(room, "\\x%02x", *p++) < 0) {
			break;
		}
	}
	return buf_text(room);
}

void text_fields(char *line, char **fields, unsigned n)
{
	static char none[] = "";

	for (unsigned i = 0; i < n; i++)
		fields[i] = line ? strsep(&line, "\t") : none;
}

char *text_trim(char *text, const char *set)
{
	char *p = text + strspn(text, set);

	for (size_t n = strlen(p); n && strchr(set, p[n - 1]);)
		p[--n] = '\0';
	return p;
}

/* Escapes the bytes of a text that must not reach a terminal. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/shown.h"
#include "base/utf8.h"

#include <stddef.h>

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

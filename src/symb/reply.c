/* Writes the values of an answer: numbers, texts and the names of modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "symb/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Writes the digits from the end of `room` on. Returns the start of the text. */
static char *hex_back(bool minus, uint64_t v, char *end)
{
	end = digits_back(end, v, 16);
	*--end = 'x';
	*--end = '0';
	if (minus)
		*--end = '-';
	return end;
}

const char *hex_text(bool minus, uint64_t v, char room[static HEX_ROOM])
{
	room[HEX_ROOM - 1] = '\0';
	return hex_back(minus, v, room + HEX_ROOM - 1);
}

void reply_hex(struct writing *w, bool minus, uint64_t v)
{
	char room[HEX_ROOM], *at;

	room[HEX_ROOM - 1] = '"';
	at = hex_back(minus, v, room + HEX_ROOM - 1);
	*--at = '"';
	buf_add(w->out, at, (size_t)(room + HEX_ROOM - at));
}

void reply_number(struct writing *w, uint32_t v)
{
	char room[12], *at = room + sizeof(room);

	do
		*--at = (char)('0' + v % 10);
	while (v /= 10);
	buf_add(w->out, at, (size_t)(room + sizeof(room) - at));
}

void reply_quoted(struct writing *w, const struct buf *text)
{
	if (w->out->r == 0)
		w->out->r = text->r;
	jtext_add(w->out, buf_text(text));
}

void reply_string(struct writing *w, const char *text)
{
	jtext_add(w->out, text);
}

void reply_putf(struct writing *w, const char *fmt, ...)
{
	char room[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(room, sizeof(room), fmt, ap);
	va_end(ap);
	reply_put(w, room);
}

void reply_key(struct writing *w, const struct wanted *m)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);

	buf_addf(&text, "%s/%s", m->name, m->id);
	reply_quoted(w, &text);
}

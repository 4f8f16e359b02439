/* Helpers that write the JSON of an answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/writing.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>

void reply_put(struct writing *w, const char *text)
{
	if (w->r == 0)
		w->r = buf_adds(w->out, text);
}

void reply_string(struct writing *w, const char *text)
{
	if (w->r == 0)
		w->r = jtext_add(w->out, text);
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
	int r = buf_addf(&text, "%s/%s", m->name, m->id);

	if (w->r == 0)
		w->r = r < 0 ? r : jtext_add(w->out, buf_text(&text));
}

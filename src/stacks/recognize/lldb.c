/* Recognizes backtraces of lldb, and its `image list`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "[  0] 620DFF78-C3F0-F7F5-A7F2-7177679986347A13E610 0x00007ffff7fb8000 /tmp/libx.so" */
static bool read_image(struct recognized *r, struct cursor c)
{
	struct cursor id;
	const char *blank;
	uint64_t number, base;

	cursor_blanks(&c);
	if (!cursor_text(&c, "["))
		return false;
	cursor_blanks(&c);
	if (!cursor_decimal(&c, &number) || !cursor_text(&c, "] ") || !(blank = cursor_find(&c, " ")))
		return false;
	id = cursor_until(&c, blank);
	cursor_blanks(&c);
	if (!cursor_address(&c, &base) || !cursor_blanks(&c))
		return false;
	note_base(r, note_module(r, c, id, cursor_left(&id) == 36 ? OBJECT_MACHO : OBJECT_ELF), BASE_IMAGE, base, 0,
		0);
	return true;
}

/* "frame #1: 0x00007ffff7fb91e3 libx.so`deep + 51"; a frame with a line ends in " at lib.c:5". */
static bool read_frame(struct recognized *r, const struct line *l, struct cursor c)
{
	struct frame f = {.kind = FRAME_ADDRESS};
	struct cursor module;
	const char *tick;
	uint64_t number;

	cursor_blanks(&c);
	cursor_text(&c, "* ");
	cursor_blanks(&c);
	if (!cursor_text(&c, "frame #") || !cursor_decimal(&c, &number) || !cursor_text(&c, ": ") ||
		!cursor_address(&c, &f.number) || !cursor_blanks(&c) || !(tick = cursor_find(&c, "`")))
		return false;
	module = cursor_until(&c, tick);
	c.p++;
	if (cursor_find_last(&c, " at ") && cursor_has_line(&c)) {
		note_signal(r, (struct cursor){0});
		return true;
	}
	tick = cursor_find_last(&c, " + ");
	f.named = !cursor_find(&c, "___lldb_unnamed_symbol");
	f.back = number > 0 && !note_signal(r, (struct cursor){c.p, tick ? tick : c.end});
	f.module = note_module(r, module, (struct cursor){0}, OBJECT_ELF);
	note_frame(r, l, c.p, cursor_left(&c), f);
	return true;
}

static bool lldb_line(struct recognized *r, const struct line *l)
{
	return read_frame(r, l, line_cursor(l)) || read_image(r, line_cursor(l));
}

const struct recognizer recognize_lldb = {"lldb", "backtraces of lldb", lldb_line, NULL};

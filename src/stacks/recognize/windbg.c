/* Recognizes frames without names in WinDbg's stacks, and a program for Windows and an offset alone in a line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "01 000000e7`d0aff8d0 00007ff8`12345678     app+0x1234", "app.exe+0x1234": offsets from the module's beginning. */
static bool windbg_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), path;
	struct frame f = {.kind = FRAME_IMAGE, .before = " in "};
	const char *plus = cursor_find_last(&c, "+0x"), *blank;

	if (!plus)
		return false;
	path = cursor_until(&c, plus);
	blank = cursor_find(&path, "`") ? cursor_find_last(&path, " ") : NULL;
	f.back = blank && !cursor_text(&path, "00 "); /* below the innermost frame */
	path.p = blank ? blank + 1 : path.p;
	if (!cursor_text(&c, "+") || !cursor_address(&c, &f.number) || cursor_left(&c) || cursor_find(&path, "!") ||
		cursor_find(&path, " ") || !(blank || cursor_ends(&path, ".exe") || cursor_ends(&path, ".dll")))
		return false;
	f.module = note_module(r, path, (struct cursor){0}, OBJECT_PE);
	note_frame(r, l, c.p, 0, f);
	return true;
}

const struct recognizer recognize_windbg = {"windbg", "WinDbg's frames without names", windbg_line, NULL};

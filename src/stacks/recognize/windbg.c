/* Recognizes frames without names in WinDbg's stacks, and a program for Windows and an offset alone in a line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

#include <string.h>

/* An address: "0012ff7c", "000000e7`d0aff8d0". */
static bool read_column(struct cursor *c)
{
	const char *p = c->p;
	uint64_t number;

	return cursor_hex(c, &number) && c->p - p == 8 && (!cursor_text(c, "`") || cursor_hex(c, &number)) &&
		cursor_blanks(c);
}

/* Whether the line before is the head of a stack. */
static bool is_first(const struct recognized *r, const struct line *l)
{
	const char *text = (const char *)r->text.p, *before = l->at ? memrchr(text, '\n', l->at - 1) : NULL;
	struct cursor c = {before ? before : text, text + l->at};

	return cursor_find(&c, "RetAddr") || cursor_find(&c, "STACK_TEXT");
}

/* "01 000000e7`d0aff8d0 00007ff8`12345678     app+0x1234", "0012ff7c 00402915 00000001 app+0x1234 (FPO: [0,0,0])",
 * "app.exe+0x1234": offsets from the module's beginning. */
static bool windbg_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), path, at = c, nth = c;
	struct frame f = {.kind = FRAME_IMAGE, .before = " in "};
	const char *plus = cursor_find_last(&c, "+0x"), *blank;
	bool numbered, columns;
	uint64_t number;

	if (!plus)
		return false;
	numbered = cursor_hex(&nth, &number) && nth.p - at.p == 2 && cursor_blanks(&nth);
	at = numbered ? nth : at;
	columns = read_column(&at) && read_column(&at);
	f.back = columns && (numbered ? number > 0 : !is_first(r, l));
	path = cursor_until(&c, plus);
	blank = columns ? cursor_find_last(&path, " ") : NULL;
	columns = blank; /* a tab is not a blank of WinDbg */
	path.p = blank ? blank + 1 : path.p;
	if (!cursor_text(&c, "+") || !cursor_address(&c, &f.number) || cursor_find(&path, "!") ||
		(cursor_left(&c) && !(columns && *c.p == ' ')) || cursor_find(&path, " ") ||
		!(columns || cursor_ends(&path, ".exe") || cursor_ends(&path, ".dll")))
		return false;
	f.module = note_module(r, path, (struct cursor){0}, OBJECT_PE);
	note_frame(r, l, c.p, 0, f);
	return true;
}

const struct recognizer recognize_windbg = {"windbg", "WinDbg's frames without names", windbg_line, NULL};

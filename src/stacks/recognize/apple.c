/* Recognizes crash reports of Apple's systems as text (.crash): stacks, and the list "Binary Images". */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

#define UUID_DIGITS 32

/* "0x1000 - 0x4fff +com.x.App (1.0 - 1) <620DFF78-...> /Applications/App", on iOS "App arm64 <620dff78...> /path". */
static bool read_image(struct recognized *r, struct cursor c)
{
	struct cursor id;
	const char *open, *close;
	uint64_t from, to;

	cursor_blanks(&c);
	if (!cursor_address(&c, &from) || !cursor_text(&c, " - ") || !(cursor_blanks(&c), cursor_address(&c, &to)) ||
		!(open = cursor_find(&c, "<")))
		return false;
	c.p = open + 1;
	close = cursor_find(&c, "> ");
	if (!close)
		return false;
	id = cursor_until(&c, close);
	c.p += 2;
	if (to < from || to == UINT64_MAX || cursor_left(&id) < UUID_DIGITS)
		return true;
	note_base(r, note_module(r, c, id, OBJECT_MACHO), BASE_IMAGE, from, to + 1, 0);
	return true;
}

/* "0   App    0x0000000104fe3f14 0x104fe0000 + 16148", or with a name instead of the module's beginning. */
static bool apple_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), name, offset;
	struct frame f = {.kind = FRAME_ADDRESS, .module = NO_SEEN};
	const char *at, *plus;
	uint64_t number, n;

	if (read_image(r, c))
		return true;
	if (!cursor_decimal(&c, &number) || !cursor_blanks(&c) || !(at = cursor_find(&c, "0x")) || at == c.p ||
		(at[-1] != ' ' && at[-1] != '\t'))
		return false;
	name = cursor_until(&c, at);
	if (!cursor_left(&name) || !cursor_address(&c, &f.number) || !cursor_text(&c, " ") ||
		!(plus = cursor_find_last(&c, " + ")))
		return false;
	offset = (struct cursor){plus + 3, c.end};
	if (!cursor_decimal(&offset, &n))
		return false;
	if (cursor_left(&offset))
		return cursor_ends(&offset, ")");
	offset = (struct cursor){c.p, plus};
	f.named = !cursor_address(&(struct cursor){c.p, plus}, &n) &&
		  !(cursor_left(&offset) == cursor_left(&name) && memcmp(offset.p, name.p, cursor_left(&name)) == 0);
	f.back = !note_signal(r, offset) && number > 0;
	note_frame(r, l, c.p, cursor_left(&c), f);
	return true;
}

const struct recognizer recognize_apple = {"apple-crash", "crash reports of Apple's systems as text", apple_line,
	NULL};

/* Recognizes the stacks in tombstones and logs of Android. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "#01 pc 0000000000001234 /system/lib64/libx.so (offset 0x1000) (work+12) (BuildId: 620d...)". The number is the
 * address in the file; that of a caller is within the call already. */
static bool android_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), path, id = {0};
	struct frame f = {.kind = FRAME_LINKED, .before = " (", .after = ")"};
	const char *at;
	uint64_t number;

	if (!cursor_number(&c, &number) || !cursor_blanks(&c) || !cursor_text(&c, "pc ") ||
		!cursor_hex(&c, &f.number) ||
		!cursor_blanks(&c))
		return false;
	at = cursor_find_last(&c, " (BuildId: ");
	if (at && cursor_ends(&c, ")")) {
		id = (struct cursor){at + 11, c.end - 1};
		c.end = at;
	}
	path = c;
	at = cursor_find(&c, " (");
	if (at) {
		struct cursor deleted = {at, c.end};

		if (cursor_text(&deleted, " (deleted)"))
			at = cursor_left(&deleted) ? deleted.p : NULL;
	}
	path.end = at ? at : c.end;
	if (at) {
		struct cursor rest = {at, c.end};
		const char *close;

		if (cursor_text(&rest, " (offset ") && (close = cursor_find(&rest, ")")))
			at = close + 1 < c.end ? close + 1 : NULL;
	}
	f.named = at != NULL;
	at = at ? at : c.end;
	f.module = note_module(r, path, id, OBJECT_ELF);
	if (f.module != NO_SEEN)
		r->seen[f.module].movable = true; /* Android loads no other programs */
	note_frame(r, l, at, (size_t)(c.end - at), f);
	return true;
}

const struct recognizer recognize_android = {"android", "tombstones of Android", android_line, NULL};

/* Recognizes stacks in the reports of AddressSanitizer and its relatives, of gcc and clang. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "(/tmp/prog+0x1271)" at the end of the line: steps back over it. */
static bool read_place(struct cursor *c, struct cursor *path, uint64_t *offset)
{
	struct cursor rest;
	const char *plus, *open;

	if (!cursor_ends(c, ")") || !(plus = cursor_find_last(c, "+0x")))
		return false;
	rest = (struct cursor){plus + 1, c->end - 1};
	if (!cursor_hex(&rest, offset) || cursor_left(&rest))
		return false;
	rest = (struct cursor){c->p, plus};
	if (cursor_ends(&rest, " (deleted)"))
		rest.end -= 10;
	open = cursor_find_last(&rest, " (");
	if (!open)
		return false;
	*path = (struct cursor){open + 2, plus};
	c->end = open;
	return true;
}

/* " (BuildId: 6c46...)" at the end of the line: steps back over it. */
static struct cursor read_id(struct cursor *c)
{
	const char *id = cursor_find_last(c, " (BuildId: ");
	struct cursor out = {0};

	if (id && cursor_ends(c, ")")) {
		out = (struct cursor){id + 11, c->end - 1};
		c->end = id;
	}
	return out;
}

/* "SUMMARY: ThreadSanitizer: data race (/tmp/prog+0x1271) in main": stacks of ThreadSanitizer have names without
 * their directories. */
static bool read_summary(struct recognized *r, struct cursor c)
{
	struct cursor path, id;
	const char *end;
	uint64_t offset;

	if (!cursor_text(&c, "SUMMARY: ") || !(end = cursor_find_last(&c, ")")))
		return false;
	c.end = end + 1;
	id = read_id(&c);
	if (read_place(&c, &path, &offset) && r->program == NO_SEEN)
		r->program = note_module(r, path, id, OBJECT_ELF);
	return true;
}

/* "#0 0x55d0 in main (/tmp/prog+0x1271)"; ThreadSanitizer prints "#0 main <null> (prog+0x1271)". The addresses of
 * callers are those of the call already. */
static bool sanitizer_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), path, id, name;
	struct frame f = {.kind = FRAME_LINKED, .before = " "};
	const char *place;
	uint64_t number, address = 0;
	bool in;

	if (read_summary(r, c))
		return true;
	if (!cursor_number(&c, &number) || !cursor_text(&c, " "))
		return false;
	cursor_blanks(&c);
	if (cursor_find(&c, "pc ") == c.p)
		return false;
	in = cursor_address(&c, &address);
	place = in ? c.p : c.p - 1;
	id = read_id(&c);
	if (!read_place(&c, &path, &f.number))
		return false;
	name = cursor_trim((struct cursor){place, c.end});
	if (in) {
		f.before = " in ";
		cursor_text(&name, "in ");
	}
	if (cursor_has_line(&name))
		return true;
	if (cursor_ends(&name, "<null>"))
		name = cursor_trim((struct cursor){name.p, name.end - 6});
	f.named = cursor_left(&name) && !cursor_is(&name, "<null>");
	f.module = note_module(r, path, id, OBJECT_ELF);
	/* The addresses of a program that is not position-independent are those in the file. */
	if (f.module != NO_SEEN && in && address != f.number)
		r->seen[f.module].movable = true;
	note_frame(r, l, place, (size_t)(c.end - place), f);
	return true;
}

const struct recognizer recognize_sanitizer = {"sanitizer", "reports of AddressSanitizer and its relatives",
	sanitizer_line, NULL};

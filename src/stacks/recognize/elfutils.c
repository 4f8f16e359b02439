/* Recognizes the stacks of eu-stack, and the lists of modules of `eu-unstrip -n`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "0x7f25d9102000+0x5000 620dff78...@0x7f25d9102248 /tmp/libx.so /tmp/libx.so.debug libx.so": the file, its debug
 * file, and the name. Without a file it is "." or "-", and the name can be the path. */
static bool read_list(struct recognized *r, struct cursor c)
{
	struct cursor id, file;
	const char *at;
	uint64_t base, size;

	if (!cursor_address(&c, &base) || !cursor_text(&c, "+") || !cursor_address(&c, &size) ||
		!cursor_text(&c, " ") ||
		!(at = cursor_find(&c, " ")))
		return false;
	id = cursor_until(&c, at);
	at = cursor_find(&id, "@");
	id.end = at ? at : id.p;
	cursor_blanks(&c);
	at = cursor_find(&c, " ");
	file = cursor_until(&c, at ? at : c.end);
	if (cursor_is(&file, ".") || cursor_is(&file, "-")) {
		cursor_blanks(&c);
		at = cursor_find(&c, " ");
		if (at)
			c.p = at;
		file = cursor_trim(c);
	}
	if (base <= UINT64_MAX - size)
		note_base(r, note_module(r, file, id, OBJECT_ELF), BASE_IMAGE, base, base + size, 0);
	return true;
}

/* eu-stack -b: " [620dff78...]@0x7f25d9102000+0x11e2", the place of the frame before. A caller's is one byte before.
 */
static bool read_place(struct recognized *r, struct cursor c)
{
	struct cursor id;
	const char *end;
	uint64_t base, offset;
	struct frame *f = r->n_frames ? &r->frames[r->n_frames - 1] : NULL;

	cursor_blanks(&c);
	if (!cursor_text(&c, "[") || !(end = cursor_find(&c, "]@")))
		return false;
	id = cursor_until(&c, end);
	c.p += 2;
	if (!cursor_address(&c, &base) || !cursor_text(&c, "+") || !cursor_address(&c, &offset) || cursor_left(&c))
		return false;
	if (!r->state.elfutils || !f)
		return true;
	if (f->module == NO_SEEN)
		f->module = note_module(r, (struct cursor){"module", &"module"[6]}, id, OBJECT_ELF);
	else
		f->module = note_module(r, (struct cursor){r->seen[f->module].path,
			strchr(r->seen[f->module].path, '\0')}, id, OBJECT_ELF);
	f->kind = FRAME_IMAGE;
	f->number = offset;
	f->back = false;
	return true;
}

/* eu-stack -s prints the line below the frame: such a frame stays as it is. */
static bool read_source(struct recognized *r, struct cursor c)
{
	if (cursor_blanks(&c) != 4 || !cursor_has_line(&c))
		return false;
	if (r->state.elfutils && r->n_frames)
		r->n_frames--;
	r->state.elfutils = false;
	return true;
}

static bool read_frame(struct recognized *r, const struct line *l, struct cursor c)
{
	struct frame f = {.kind = FRAME_ADDRESS, .before = " ", .module = NO_SEEN};
	struct cursor name;
	const char *place, *path;
	uint64_t number;

	if (!cursor_text(&c, "#") || !cursor_decimal(&c, &number) || !cursor_blanks(&c) ||
		!cursor_address(&c, &f.number))
		return false;
	cursor_text(&c, " - 1");
	place = c.p;
	if (cursor_left(&c) && !cursor_blanks(&c))
		return false;
	if (cursor_text(&c, "in "))
		return false;
	c.p = place;
	path = cursor_find_last(&c, " - ");
	name = (struct cursor){place, path ? path : c.end};
	if (path)
		f.module = note_module(r, (struct cursor){path + 3, c.end}, (struct cursor){0}, OBJECT_ELF);
	f.named = cursor_left(&(struct cursor){cursor_trim(name).p, cursor_trim(name).end}) > 0;
	f.back = !note_signal(r, cursor_trim(name)) && number > 0;
	r->state.elfutils = note_frame(r, l, place, (size_t)(name.end - place), f) != NULL;
	return true;
}

static bool elfutils_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l);

	if (read_frame(r, l, c) || read_place(r, c) || read_source(r, c))
		return true;
	r->state.elfutils = false;
	return read_list(r, c);
}

const struct recognizer recognize_elfutils = {"elfutils", "stacks of eu-stack", elfutils_line, NULL};

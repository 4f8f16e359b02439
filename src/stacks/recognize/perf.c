/* Recognizes the output of `perf script`, and the lists of `perf buildid-list`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

#define ID_DIGITS 40

/* "... PERF_RECORD_MMAP2 7/7: [0x55d0000(0x1000) @ 0x1000 fd:01 13 0]: r-xp /tmp/prog", or with "<620d...>" after the
 * offset. */
static bool read_mapping(struct recognized *r, struct cursor c)
{
	const char *at = cursor_find(&c, " PERF_RECORD_MMAP"), *open, *close;
	struct cursor id = {0};
	uint64_t from, size, offset;

	if (!at)
		return false;
	c.p = at;
	if (!(at = cursor_find(&c, ": [")))
		return true;
	c.p = at + 3;
	if (!cursor_address(&c, &from) || !cursor_text(&c, "(") || !cursor_address(&c, &size) ||
		!cursor_text(&c, ") @ ") ||
		!cursor_hex(&c, &offset) || !(close = cursor_find(&c, "]: ")) || from > UINT64_MAX - size)
		return true;
	open = cursor_find(&c, "<");
	if (open && open < close)
		id = (struct cursor){open + 1, close[-1] == '>' ? close - 1 : close};
	c.p = close + 3;
	if (!(at = cursor_find(&c, " ")))
		return true;
	c.p = at + 1;
	note_base(r, note_module(r, c, id, OBJECT_ELF), BASE_FILE, from, from + size, offset);
	return true;
}

/* "620dff78c3f0f7f5a7f27177679986347a13e610 /tmp/libx.so" */
static bool read_list(struct recognized *r, struct cursor c)
{
	const char *blank = cursor_find(&c, " ");
	struct cursor id;
	uint64_t digit;

	if (!blank || blank - c.p != ID_DIGITS)
		return false;
	id = cursor_until(&c, blank);
	for (struct cursor d = id; cursor_left(&d); d.p++)
		if (!cursor_hex(&(struct cursor){d.p, d.p + 1}, &digit))
			return false;
	note_module(r, c, id, OBJECT_ELF);
	return true;
}

/* "	1462a [unknown] (/usr/lib/ld.so)": an offset in the file; earlier versions of perf print addresses. */
static bool read_frame(struct recognized *r, const struct line *l, struct cursor c)
{
	struct frame f = {.kind = FRAME_FILE};
	struct cursor path;
	const char *open, *name;

	if (!cursor_blanks(&c) || cursor_find(&c, "0x") == c.p || !cursor_hex(&c, &f.number) ||
		!cursor_text(&c, " ") ||
		!cursor_ends(&c, ")") || !(open = cursor_find_last(&c, " (")))
		return false;
	if (cursor_ends(&c, " (deleted))")) {
		path = (struct cursor){c.p, open};
		open = cursor_find_last(&path, " (");
		if (!open)
			return false;
	}
	name = c.p;
	path = (struct cursor){open + 2, c.end - 1};
	c.end = open;
	f.named = !cursor_is(&c, "[unknown]");
	if (f.named && !(open = cursor_find_last(&c, "+0x")))
		return false;
	f.back = !note_signal(r, (struct cursor){c.p, f.named ? open : c.end}) && r->state.sample;
	r->state.sample = true;
	f.module = note_module(r, path, (struct cursor){0}, OBJECT_ELF);
	if (f.module != NO_SEEN)
		note_frame(r, l, name, cursor_left(&c), f);
	return true;
}

static bool perf_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l);

	if (read_frame(r, l, c))
		return true;
	r->state.sample = false;
	return read_mapping(r, c) || read_list(r, c);
}

const struct recognizer recognize_perf = {"perf", "stacks of perf script", perf_line, NULL};

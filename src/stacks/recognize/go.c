/* Recognizes tracebacks of Go. They have names and lines, but not of C code: the instruction of a crash in cgo, and
 * functions that are not of Go, are addresses alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "$ ./prog -v": the command that was typed before. */
static void read_program(struct recognized *r, struct cursor c)
{
	const char *end;

	if (!cursor_text(&c, "$ ") || c.p == c.end || (*c.p != '.' && *c.p != '/'))
		return;
	end = cursor_find(&c, " ");
	note_program(r, (struct cursor){c.p, end ? end : c.end});
}

/* "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x482e6b]", "PC=0x482e6b m=0 sigcode=1",
 * "non-Go function at pc=0x482e6b", "runtime: g 1: unknown pc 0x482e6b", "... called from 0x482e6b". Inlined calls of
 * Go are lines of their own already, so other frames have all that symfs could add. */
static bool go_line(struct recognized *r, const struct line *l)
{
	static const struct {
		const char *line, *number;
		bool back;
	} forms[] = {{"[signal ", " pc=", false}, {"PC=", "PC=", false}, {"non-Go function at ", "pc=", true},
		{"runtime: ", " unknown pc ", true}, {"runtime: ", " called from ", true}};
	struct cursor c = line_cursor(l);
	struct frame f = {.kind = FRAME_ADDRESS, .module = NO_SEEN, .before = " "};

	if (r->program == NO_SEEN)
		read_program(r, c);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct cursor at = c;
		const char *place = cursor_find(&c, forms[i].line);

		if (!place)
			continue;
		at.p = place;
		place = cursor_find(&at, forms[i].number);
		cursor_until(&at, place ? place : at.end);
		if (!cursor_text(&at, forms[i].number) || !cursor_address(&at, &f.number))
			continue;
		f.back = forms[i].back && r->state.sample;
		r->state.sample = forms[i].back;
		note_frame(r, l, at.p, 0, f);
		return true;
	}
	return false;
}

const struct recognizer recognize_go = {"go", "tracebacks of Go", go_line, NULL};

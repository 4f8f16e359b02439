/* Recognizes stacks of .NET whose frames have a token and an offset in place of a source line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

/* "   at Ns.Type.Method(Int32 n) in App.dll:token 0x6000001+0x2d": a row of the table of methods, and an offset in
 * its instructions of IL. A caller's is within its call. With a source line, the frame ends in " in x.cs:line 1". */
static bool dotnet_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l), token;
	struct frame f = {.kind = FRAME_METHOD, .style = STYLE_DOTNET, .named = true};
	const char *in, *colon;
	uint64_t method, offset;

	cursor_blanks(&c);
	if (!cursor_text(&c, "at ") || !(in = cursor_find_last(&c, ") in ")))
		return false;
	c.p = in + 5;
	if (cursor_find(&c, ":line "))
		return true;
	if (!(colon = cursor_find_last(&c, ":token ")))
		return false;
	token = (struct cursor){colon + 7, c.end};
	if (!cursor_address(&token, &method) || !cursor_text(&token, "+") || !cursor_address(&token, &offset) ||
		method >> 24 != 6 || offset > UINT32_MAX)
		return false;
	f.number = method << 32 | offset;
	f.module = note_module(r, (struct cursor){c.p, colon}, (struct cursor){0}, OBJECT_PE_DOTNET);
	if (f.module != NO_SEEN)
		note_frame(r, l, in + 2, (size_t)(token.p - in - 2), f);
	return true;
}

const struct recognizer recognize_dotnet = {"dotnet", "stacks of .NET with tokens and offsets", dotnet_line, NULL};

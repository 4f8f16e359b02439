/* Recognizes the stacks that systemd-coredump writes to the journal, and coredumpctl prints. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "stacks/recognize/private.h"

#define PACKAGE_TOKENS 100000u

/* "Module libx.so with build-id 620d...", and the form of earlier versions: "Found module libx.so with build-id:
 * ...". */
static bool read_module(struct recognized *r, struct cursor c)
{
	const char *at = cursor_find(&c, "odule "), *id;
	struct cursor path;

	if (!at || at == c.p || (at[-1] != 'M' && at[-1] != 'm'))
		return false;
	c.p = at + 6;
	id = cursor_find(&c, " with build-id");
	if (!id)
		return false;
	path = cursor_until(&c, id);
	cursor_text(&c, " with build-id");
	cursor_text(&c, ":");
	cursor_blanks(&c);
	id = c.p;
	while (c.p < c.end && *c.p != ' ' && *c.p != '.')
		c.p++;
	note_module(r, path, (struct cursor){id, c.p}, OBJECT_ELF);
	return true;
}

/* "COREDUMP_PACKAGE_JSON={"libx.so":{"buildId":"620d..."}}" */
static bool read_packages(struct recognized *r, struct cursor c)
{
	const char *at = cursor_find(&c, "COREDUMP_PACKAGE_JSON=");
	_cleanup_jtext_ struct jtext j = {0};
	uint32_t t = 1;

	if (!at)
		return false;
	c.p = at + 22;
	if (jtext_read(&j, (struct span){(const uint8_t *)c.p, cursor_left(&c)}, PACKAGE_TOKENS, NULL) < 0 ||
		j.token[0].kind != JTEXT_OBJECT)
		return true;
	for (uint32_t i = 0; i < j.token[0].n; i++) {
		uint32_t id = j.token[t + 1].kind == JTEXT_OBJECT ? jtext_member(&j, t + 1, "buildId") : 0;
		const char *text = (const char *)j.text.p;

		if (id && j.token[id].kind == JTEXT_STRING)
			note_module(r, (struct cursor){text + j.token[t].at, text + j.token[t].at + j.token[t].len},
				(struct cursor){text + j.token[id].at, text + j.token[id].at + j.token[id].len},
				OBJECT_ELF);
		t = j.token[t + 1].next;
	}
	return true;
}

/* "Executable: /usr/bin/prog", and the journal's field "COREDUMP_EXE=/usr/bin/prog". */
static bool read_executable(struct recognized *r, struct cursor c)
{
	cursor_blanks(&c);
	if (!cursor_text(&c, "Executable: ") && !cursor_text(&c, "COREDUMP_EXE="))
		return false;
	note_program(r, c);
	return true;
}

/* "#1  0x000055d0 n/a (prog + 0x116f)": the offset is from the beginning of the module. */
static bool read_frame(struct recognized *r, const struct line *l, struct cursor c)
{
	struct frame f = {.kind = FRAME_IMAGE};
	struct cursor name, path, offset;
	const char *plus, *open;
	uint64_t number, address;

	if (!cursor_number(&c, &number) || !cursor_blanks(&c) || !cursor_address(&c, &address) ||
		!cursor_text(&c, " ") ||
		!cursor_ends(&c, ")") || !(plus = cursor_find_last(&c, " + 0x")))
		return false;
	offset = (struct cursor){plus + 3, c.end - 1};
	if (!cursor_hex(&offset, &f.number) || cursor_left(&offset))
		return false;
	path = (struct cursor){c.p, plus};
	open = cursor_find_last(&path, " (");
	if (!open)
		return false;
	path.p = open + 2;
	name = (struct cursor){c.p, open};
	f.named = !cursor_is(&name, "n/a");
	f.back = !note_signal(r, name) && number > 0;
	f.module = note_module(r, path, (struct cursor){0}, OBJECT_ELF);
	note_frame(r, l, name.p, cursor_left(&name), f);
	return true;
}

static bool systemd_line(struct recognized *r, const struct line *l)
{
	struct cursor c = line_cursor(l);

	return read_frame(r, l, c) || read_module(r, c) || read_packages(r, c) || read_executable(r, c);
}

const struct recognizer recognize_systemd = {"systemd-coredump", "stacks in systemd's journal", systemd_line, NULL};

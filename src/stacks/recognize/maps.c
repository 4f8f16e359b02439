/* Recognizes lists of mappings, which give modules their addresses: /proc/PID/maps, and gdb's `info proc mappings`.
 */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/recognize/private.h"

static bool is_rights(const struct cursor *c)
{
	return cursor_left(c) == 4 && (c->p[0] == 'r' || c->p[0] == '-') && (c->p[1] == 'w' || c->p[1] == '-') &&
	       (c->p[2] == 'x' || c->p[2] == '-');
}

static bool read_word(struct cursor *c, struct cursor *word)
{
	const char *end;

	cursor_blanks(c);
	end = cursor_find(c, " ");
	*word = cursor_until(c, end ? end : c->end);
	cursor_blanks(c);
	return cursor_left(word) > 0;
}

/* A mapping, as /proc/PID/maps lists them. */
static void take_mapping(struct recognized *r, uint32_t module, uint64_t from, uint64_t to, uint64_t offset)
{
	struct based *last = r->n_based ? &r->based[r->n_based - 1] : NULL;

	if (module == NO_SEEN || to <= from)
		return;
	if (offset && last && last->module == module && last->kind == BASE_IMAGE && from >= last->to)
		last->to = to;
	else
		note_base(r, module, offset ? BASE_FILE : BASE_IMAGE, from, to, offset);
}

/* "55d0-55d1 r-xp 00001000 fd:01 13   /tmp/prog", also in the journal's field of systemd-coredump. */
static bool read_kernel(struct recognized *r, struct cursor c)
{
	struct cursor word;
	uint64_t from, to, offset;

	cursor_blanks(&c);
	cursor_text(&c, "COREDUMP_PROC_MAPS=");
	if (!cursor_hex(&c, &from) || !cursor_text(&c, "-") || !cursor_hex(&c, &to) || !read_word(&c, &word) ||
		!is_rights(&word) || !cursor_hex(&c, &offset) || !read_word(&c, &word) || !read_word(&c, &word))
		return false;
	take_mapping(r, note_module(r, c, (struct cursor){0}, OBJECT_ELF), from, to, offset);
	return true;
}

/* "0x55d0  0x55d1  0x1000  0x1000  r-xp  /tmp/prog"; earlier versions of gdb print no rights. */
static bool read_gdb(struct recognized *r, struct cursor c)
{
	uint64_t from, to, size, offset;
	struct cursor word, rest;

	cursor_blanks(&c);
	if (!cursor_address(&c, &from) || !cursor_blanks(&c) || !cursor_address(&c, &to) || !cursor_blanks(&c) ||
		!cursor_address(&c, &size) || !cursor_blanks(&c) || !cursor_address(&c, &offset))
		return false;
	rest = c;
	if (read_word(&rest, &word) && is_rights(&word))
		c = rest;
	take_mapping(r, note_module(r, c, (struct cursor){0}, OBJECT_ELF), from, to, offset);
	return true;
}

static bool maps_line(struct recognized *r, const struct line *l)
{
	return read_kernel(r, line_cursor(l)) || read_gdb(r, line_cursor(l));
}

const struct recognizer recognize_maps = {"maps", "lists of mappings", maps_line, NULL};

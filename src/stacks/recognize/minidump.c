/* Recognizes what rust-minidump's minidump-stackwalk prints with --json. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/recognize/private.h"

#include <stdio.h>
#include <string.h>

struct dump {
	struct recognized *r;
	struct jtext j;
};

/* An ELF file's code id is its build id; a debug file with another name (.pdb) makes the module a Windows program. */
static void read_modules(struct dump *d, uint32_t list)
{
	uint32_t t = list + 1;

	for (uint32_t i = 0; i < d->j.token[list].n; i++, t = d->j.token[t].next) {
		struct cursor name, id, file;
		struct seen *s;
		uint32_t at;

		if (d->j.token[t].kind != JTEXT_OBJECT)
			continue;
		name = document_word(&d->j, t, "filename");
		id = document_word(&d->j, t, "debug_id");
		file = document_word(&d->j, t, "debug_file");
		at = note_module(d->r, name, document_word(&d->j, t, "code_id"), OBJECT_UNKNOWN);
		if (at == NO_SEEN)
			continue;
		s = &d->r->seen[at];
		if (cursor_left(&id) && debug_id_parse(&s->m.debug_id, id.p, cursor_left(&id)) == 0)
			s->has_id = true;
		if (cursor_left(&file) < MODULE_NAME_MAX)
			snprintf(s->m.debug_file, sizeof(s->m.debug_file), "%.*s", (int)cursor_left(&file), file.p);
	}
}

/* Replaces one member that is null. */
static void read_member(struct dump *d, uint32_t object, const char *name, struct frame f, enum frame_style style)
{
	uint32_t t = jtext_member(&d->j, object, name);
	const struct jtoken *k = &d->j.token[t];
	struct line l = {(const char *)d->j.text.p + k->at, k->len, k->at};

	if (!t || k->kind != JTEXT_NULL)
		return;
	f.style = style;
	note_frame(d->r, &l, l.p, l.n, f);
}

/* The offsets of callers are within the call already. */
static void read_frame(struct dump *d, uint32_t object)
{
	struct frame f = {.kind = FRAME_IMAGE};
	uint32_t line = jtext_member(&d->j, object, "line"), function = jtext_member(&d->j, object, "function");

	if (!function || d->j.token[function].kind != JTEXT_NULL || (line && d->j.token[line].kind != JTEXT_NULL) ||
		!document_number(&d->j, object, "module_offset", &f.number))
		return;
	f.module = note_module(d->r, document_word(&d->j, object, "module"), (struct cursor){0}, OBJECT_UNKNOWN);
	read_member(d, object, "function", f, STYLE_MINIDUMP_FUNCTION);
	read_member(d, object, "file", f, STYLE_MINIDUMP_FILE);
	read_member(d, object, "line", f, STYLE_MINIDUMP_LINE);
	read_member(d, object, "inlines", f, STYLE_MINIDUMP_INLINES);
}

static void read_frames(struct dump *d, uint32_t frames)
{
	uint32_t t = frames + 1;

	for (uint32_t i = 0; frames && i < d->j.token[frames].n; i++, t = d->j.token[t].next)
		if (d->j.token[t].kind == JTEXT_OBJECT)
			read_frame(d, t);
}

/* The crashing thread is there twice: in the list, and by itself. */
static bool minidump_document(struct recognized *r)
{
	struct dump d = {.r = r};
	uint32_t threads, modules, t;
	bool is = false;

	if (r->text.n && r->text.p[0] == '{' && document_read(&d.j, r, 0, r->text.n)) {
		modules = document_member(&d.j, 0, "modules", JTEXT_ARRAY);
		threads = document_member(&d.j, 0, "threads", JTEXT_ARRAY);
		is = modules && threads;
	}
	if (is) {
		t = threads + 1;
		read_modules(&d, modules);
		for (uint32_t i = 0; i < d.j.token[threads].n; i++, t = d.j.token[t].next)
			read_frames(&d, document_member(&d.j, t, "frames", JTEXT_ARRAY));
		t = document_member(&d.j, 0, "crashing_thread", JTEXT_OBJECT);
		if (t)
			read_frames(&d, document_member(&d.j, t, "frames", JTEXT_ARRAY));
		document_sort(r);
	}
	jtext_release(&d.j);
	return is;
}

const struct recognizer recognize_minidump = {"rust-minidump", "JSON of minidump-stackwalk", NULL, minidump_document};

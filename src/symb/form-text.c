/* Writes an answer as text for people: a line for each frame, and for each inlined call there. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/utf8.h"
#include "symb/writing.h"

#include <inttypes.h>

#define SHOWN_MOST (64u << 20)

static void put_shown(struct writing *w, const char *before, const char *text)
{
	reply_put(w, before);
	reply_put(w, text_shown(text, true, &w->parts));
}

static void put_head(struct writing *w, size_t number, const struct asked_frame *f)
{
	buf_addf(w->out, "%3zu  ", number);
	put_shown(w, "", writing_module(writing_wanted(w->q, f)));
}

static void put_place(struct writing *w, const struct symb_name *n)
{
	if (n->file)
		put_shown(w, " at ", n->file);
	if (n->line)
		buf_addf(w->out, ":%" PRIu32, n->line);
	if (n->language) {
		put_shown(w, " [", n->language);
		reply_put(w, "]");
	}
	reply_put(w, "\n");
}

static void put_frame(struct writing *w, size_t number, size_t frame)
{
	const struct asked_frame *f = &w->q->frames[frame];
	unsigned n = symb_look_up(w->q, frame);
	const struct symb_name none = {0}, *name = &none;
	char room[HEX_ROOM];

	for (unsigned i = 0; i < n && (name = symb_name(w->q, i))->inlined; i++) {
		put_head(w, number, f);
		put_shown(w, "  ", name->function);
		reply_put(w, " (inlined)");
		put_place(w, name);
	}
	put_head(w, number, f);
	if (name->function)
		put_shown(w, "  ", name->function);
	else if (f->method)
		buf_addf(w->out, "  method %s", hex_text(false, f->method, room));
	reply_put(w, " + ");
	reply_put(w, name->function && !f->method ? hex_text(name->before, name->offset, room)
						  : writing_offset(w->q, f, room));
	put_place(w, name);
}

static void put_line(struct writing *w, size_t number, size_t frame)
{
	_cleanup_buf_ struct buf line = BUF_UP_TO(SYMB_REPLY_MOST);

	writing_line(w->q, frame, &line);
	buf_addf(w->out, "%3zu  ", number);
	put_shown(w, "", buf_text(&line));
	reply_put(w, "\n");
}

int form_text(struct symb_request *q, const struct symb_api *api, struct buf *out)
{
	struct writing w = {.q = q, .out = out, .parts = BUF_UP_TO(SHOWN_MOST)};

	for (size_t i = 0; out->r == 0 && i < q->n_stacks; i++) {
		const struct asked_stack *s = &q->stacks[i];

		reply_put(&w, i ? "\n" : "");
		for (size_t k = 0; out->r == 0 && k < s->n; k++)
			(api->jobs ? put_frame : put_line)(&w, k, s->first + k);
	}
	buf_release(&w.parts);
	return out->r;
}

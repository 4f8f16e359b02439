/* Prints stacks: text for people, or JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/utf8.h"
#include "base/util.h"
#include "stacks/stacks.h"

#include <inttypes.h>

#define SHOWN_MOST (64u << 20)

/* ---- text --------------------------------------------------------------------------- */

struct printing {
	const struct stacks *s;
	struct buf *out;
	struct buf room;
	size_t number; /* of the frame in its thread */
	const struct stack_frame *frame;
	bool named; /* the function of the frame is printed */
};

static int put_shown(struct printing *p, const char *before, const char *text)
{
	buf_adds(p->out, before);
	return buf_adds(p->out, text_shown(text, true, &p->room));
}

static const struct stack_module *module_of(const struct stacks *s, const struct stack_frame *f)
{
	return f->module == STACKS_NO_MODULE ? NULL : &s->module[f->module];
}

static int put_head(struct printing *p)
{
	const struct stack_module *m = module_of(p->s, p->frame);

	buf_addf(p->out, "%3zu  ", p->number);
	return m ? put_shown(p, "", stack_module_name(m)) : 0;
}

/* What is special about the frame: how it was found, where that makes it less sure. */
static int put_marks(struct printing *p)
{
	const struct stack_module *m = module_of(p->s, p->frame);

	buf_adds(p->out, p->frame->signal ? "  (signal handler called)" : "");
	if (p->frame->found == STACK_POINTER || p->frame->found == STACK_SCAN)
		buf_addf(p->out, "  [%s]", stack_found_name(p->frame->found));
	if (m && m->unverified)
		buf_adds(p->out, "  [unverified]");
	return buf_adds(p->out, "\n");
}

static int put_place(struct printing *p, const struct stack_name *n)
{
	if (n->file)
		put_shown(p, " at ", n->file);
	return n->file && n->line ? buf_addf(p->out, ":%" PRIu32, n->line) : p->out->r;
}

static int put_offset(struct printing *p, uint64_t offset)
{
	return buf_addf(p->out, " + 0x%" PRIx64, offset);
}

/* The offset of the address itself: `look` of a caller is a byte less. */
static uint64_t past_look(const struct stack_frame *f)
{
	return f->address - f->look;
}

static int put_name(void *ctx, const struct stack_name *n)
{
	struct printing *p = ctx;

	put_head(p);
	if (n->function)
		put_shown(p, "  ", n->function);
	if (n->inlined)
		buf_adds(p->out, " (inlined)");
	else if (n->function)
		put_offset(p, n->offset + past_look(p->frame));
	put_place(p, n);
	if (n->inlined)
		return buf_adds(p->out, "\n");
	p->named = true;
	return put_marks(p);
}

static int put_frame(struct printing *p, size_t index)
{
	const struct stack_module *m;
	int r;

	p->frame = &p->s->frame[index];
	p->named = false;
	r = stacks_named(p->s, index, put_name, p);
	if (r < 0 || p->named)
		return r;
	m = module_of(p->s, p->frame);
	put_head(p);
	if (m)
		put_offset(p, p->frame->address - m->base);
	else
		buf_addf(p->out, "0x%" PRIx64, p->frame->address);
	return put_marks(p);
}

static int put_thread(struct printing *p, const struct stack_thread *t, bool more)
{
	int r = 0;

	buf_addf(p->out, "%sThread %" PRIu64, more ? "\n" : "", t->id);
	if (t->name[0])
		put_shown(p, " ", t->name);
	buf_adds(p->out, t->crashed ? ", crashed:\n" : ":\n");
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		p->number = i;
		r = put_frame(p, t->first + i);
	}
	if (t->end[0]) {
		put_shown(p, "     ", t->end);
		buf_adds(p->out, "\n");
	}
	return r < 0 ? r : p->out->r;
}

int stacks_text(const struct stacks *s, struct buf *out)
{
	struct printing p = {.s = s, .out = out, .room = BUF_UP_TO(SHOWN_MOST)};
	bool more = s->reason[0];
	int r = 0;

	if (s->reason[0]) {
		put_shown(&p, "", s->reason);
		r = buf_adds(out, "\n");
	}
	for (int crashed = 1; crashed >= 0; crashed--)
		for (size_t i = 0; r == 0 && i < s->n_threads; i++)
			if (s->thread[i].crashed == crashed) {
				r = put_thread(&p, &s->thread[i], more);
				more = true;
			}
	buf_release(&p.room);
	return r;
}

/* ---- JSON --------------------------------------------------------------------------- */

static int put_json_member(struct buf *out, const char *before, const char *text)
{
	buf_adds(out, before);
	return text[0] ? jtext_add(out, text) : buf_adds(out, "null");
}

struct json_names {
	struct buf *out;
	bool inlines, named; /* the list of inlined calls is open; the function of the frame is written */
};

static int json_name(void *ctx, const struct stack_name *n)
{
	struct json_names *p = ctx;

	buf_adds(p->out, !n->inlined ? p->inlines ? "], " : ", " : p->inlines ? ", {" : ", \"inlines\": [{");
	p->inlines |= n->inlined;
	p->named |= !n->inlined;
	put_json_member(p->out, "\"function\": ", n->function ? n->function : "");
	put_json_member(p->out, ", \"file\": ", n->file ? n->file : "");
	buf_adds(p->out, ", \"line\": ");
	if (n->line)
		buf_addf(p->out, "%" PRIu32, n->line);
	else
		buf_adds(p->out, "null");
	return buf_adds(p->out, n->inlined ? "}" : "");
}

static int json_frame(const struct stacks *s, size_t index, struct buf *out)
{
	const struct stack_frame *f = &s->frame[index];
	const struct stack_module *m = module_of(s, f);
	struct json_names p = {.out = out};
	int r;

	buf_addf(out, "{\"address\": \"0x%" PRIx64 "\", \"found\": \"%s\"", f->address, stack_found_name(f->found));
	if (f->signal)
		buf_adds(out, ", \"signal\": true");
	if (m && m->unverified)
		buf_adds(out, ", \"unverified\": true");
	put_json_member(out, ", \"module\": ", m ? stack_module_name(m) : "");
	r = stacks_named(s, index, json_name, &p);
	if (r == 0 && !p.named)
		r = json_name(&p, &(struct stack_name){0});
	return r < 0 ? r : buf_adds(out, "}");
}

static int json_thread(const struct stacks *s, const struct stack_thread *t, struct buf *out)
{
	int r = 0;

	buf_addf(out, "{\"id\": %" PRIu64, t->id);
	put_json_member(out, ", \"name\": ", t->name);
	buf_addf(out, ", \"crashed\": %s", t->crashed ? "true" : "false");
	put_json_member(out, ", \"end\": ", t->end);
	buf_adds(out, ", \"frames\": [");
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		buf_adds(out, i ? ", " : "");
		r = json_frame(s, t->first + i, out);
	}
	return r < 0 ? r : buf_adds(out, "]}");
}

int stacks_json(const struct stacks *s, struct buf *out)
{
	int r = 0;

	put_json_member(out, "{\"reason\": ", s->reason);
	buf_addf(out, ", \"address\": \"0x%" PRIx64 "\", \"threads\": [", s->address);
	for (size_t i = 0; r == 0 && i < s->n_threads; i++) {
		buf_adds(out, i ? ", " : "");
		r = json_thread(s, &s->thread[i], out);
	}
	if (r < 0)
		return r;
	buf_adds(out, "], \"request\": ");
	stacks_request(s, out);
	buf_addf(out, ", \"answer\": %s", s->answer.n ? buf_text(&s->answer) : "null");
	return buf_adds(out, "}");
}

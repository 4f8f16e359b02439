/* Asks symb/ for the names of stacks, and prints them: text for people, or JSON. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/util.h"
#include "stacks/stacks.h"
#include "symb/form.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MOST (64u << 20)

struct printing {
	const struct stacks *s;
	bool brief;
	struct symb_request *names; /* NULL: there are no names */
	struct buf *out;
	struct buf room;
	size_t number; /* of the frame in its thread */
	const struct stack_frame *frame;
};

/* ---- the request -------------------------------------------------------------------- */

/* What symb/ gets of a module: a name longer than it takes is left out. */
static struct module module_to_ask(const struct stack_module *m)
{
	const char *path = m->path ? path_base(m->path) : "";
	struct module of = m->m;

	if (!of.code_file[0] && strlen(path) < sizeof(of.code_file))
		snprintf(of.code_file, sizeof(of.code_file), "%s", path);
	if (!of.debug_file[0])
		memcpy(of.debug_file, of.code_file, sizeof(of.debug_file));
	return of;
}

/* Whether the offset of a frame in its module is asked for. */
static bool has_offset(const struct stacks *s, const struct stack_frame *f)
{
	return f->module != STACKS_NO_MODULE && f->look >= s->module[f->module].base;
}

static int ask(struct printing *p, struct symb *symb, const struct symb_flags *flags, struct err *e)
{
	const struct stacks *s = p->s;

	if (!s->n_threads)
		return err_set(e, -EBADMSG, "there are no threads");
	p->names = symb_request_new(symb, flags);
	if (!p->names)
		return err_set(e, -ENOMEM, "%s", err_text(-ENOMEM));
	for (size_t i = 0; i < s->n_modules; i++) {
		struct module m = module_to_ask(&s->module[i]);

		symb_add_module(p->names, &m, NULL);
	}
	for (size_t i = 0; i < s->n_threads; i++) {
		symb_add_stack(p->names);
		for (size_t k = 0; k < s->thread[i].n; k++) {
			const struct stack_frame *f = &s->frame[s->thread[i].first + k];

			if (has_offset(s, f))
				symb_add_frame(p->names, f->module, false, f->look - s->module[f->module].base);
			else
				symb_add_frame(p->names, SYMB_NO_MODULE, false, f->look);
		}
	}
	return symb_load(p->names, e);
}

/* The names of a frame, as symb_look_up() counts them. */
static unsigned look_up(const struct printing *p, const struct stack_frame *f)
{
	return p->names ? symb_look_up(p->names, (size_t)(f - p->s->frame)) : 0;
}

/* ---- text --------------------------------------------------------------------------- */

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

static int put_place(struct printing *p, const struct symb_name *n)
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

static int put_name(struct printing *p, const struct symb_name *n)
{
	if (p->brief && n->function)
		buf_addf(p->out, "%3zu", p->number);
	else
		put_head(p);
	if (n->function)
		put_shown(p, "  ", n->function);
	if (n->inlined)
		buf_adds(p->out, " (inlined)");
	else if (n->function && !p->brief)
		put_offset(p, (n->before ? 0 : n->offset) + past_look(p->frame));
	put_place(p, n);
	return n->inlined ? buf_adds(p->out, "\n") : put_marks(p);
}

static int put_frame(struct printing *p)
{
	const struct stack_module *m = module_of(p->s, p->frame);
	unsigned n = look_up(p, p->frame);

	for (unsigned i = 0; i < n; i++)
		put_name(p, symb_name(p->names, i));
	if (n)
		return p->out->r;
	put_head(p);
	if (m)
		put_offset(p, p->frame->address - m->base);
	else
		buf_addf(p->out, "0x%" PRIx64, p->frame->address);
	return put_marks(p);
}

static int put_thread(struct printing *p, const struct stack_thread *t, bool more)
{
	buf_addf(p->out, "%sThread %" PRIu64, more ? "\n" : "", t->id);
	if (t->name[0])
		put_shown(p, " ", t->name);
	buf_adds(p->out, t->crashed ? ", crashed:\n" : ":\n");
	for (p->number = 0; p->out->r == 0 && p->number < t->n; p->number++) {
		p->frame = &p->s->frame[t->first + p->number];
		put_frame(p);
	}
	if (t->end[0]) {
		put_shown(p, "     ", t->end);
		buf_adds(p->out, "\n");
	}
	return p->out->r;
}

static int put_text(struct printing *p)
{
	const struct stacks *s = p->s;
	bool more = s->reason[0];

	if (s->reason[0]) {
		put_shown(p, "", s->reason);
		buf_adds(p->out, "\n");
	}
	for (int crashed = 1; crashed >= 0; crashed--)
		for (size_t i = 0; p->out->r == 0 && i < s->n_threads; i++)
			if (s->thread[i].crashed == crashed) {
				put_thread(p, &s->thread[i], more);
				if (p->brief)
					return p->out->r;
				more = true;
			}
	return p->out->r;
}

/* ---- JSON --------------------------------------------------------------------------- */

static int put_json_member(struct buf *out, const char *before, const char *text)
{
	buf_adds(out, before);
	return text[0] ? jtext_add(out, text) : buf_adds(out, "null");
}

static void json_name(struct buf *out, const struct symb_name *n)
{
	put_json_member(out, "\"function\": ", n->function ? n->function : "");
	put_json_member(out, ", \"file\": ", n->file ? n->file : "");
	if (n->line)
		buf_addf(out, ", \"line\": %" PRIu32, n->line);
	else
		buf_adds(out, ", \"line\": null");
}

static void json_frame(const struct printing *p, const struct stack_frame *f)
{
	const struct stack_module *m = module_of(p->s, f);
	unsigned n = look_up(p, f);
	struct buf *out = p->out;

	buf_addf(out, "{\"address\": \"0x%" PRIx64 "\", \"found\": \"%s\"", f->address, stack_found_name(f->found));
	if (f->signal)
		buf_adds(out, ", \"signal\": true");
	if (m && m->unverified)
		buf_adds(out, ", \"unverified\": true");
	put_json_member(out, ", \"module\": ", m ? stack_module_name(m) : "");
	for (unsigned i = 0; i + 1 < n; i++) {
		buf_adds(out, i ? ", {" : ", \"inlines\": [{");
		json_name(out, symb_name(p->names, i));
		buf_adds(out, "}");
	}
	buf_adds(out, n > 1 ? "], " : ", ");
	json_name(out, n ? symb_name(p->names, n - 1) : &(struct symb_name){0});
	buf_adds(out, "}");
}

static void json_thread(const struct printing *p, const struct stack_thread *t)
{
	struct buf *out = p->out;

	buf_addf(out, "{\"id\": %" PRIu64, t->id);
	put_json_member(out, ", \"name\": ", t->name);
	buf_addf(out, ", \"crashed\": %s", t->crashed ? "true" : "false");
	put_json_member(out, ", \"end\": ", t->end);
	buf_adds(out, ", \"frames\": [");
	for (size_t i = 0; out->r == 0 && i < t->n; i++) {
		buf_adds(out, i ? ", " : "");
		json_frame(p, &p->s->frame[t->first + i]);
	}
	buf_adds(out, "]}");
}

/* ---- the request and the answer as JSON ---------------------------------------------- */

static void put_member(struct buf *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	buf_addf(out, ", \"%s\": ", name);
	jtext_add(out, text);
}

static void json_module(struct buf *out, const struct stack_module *of)
{
	struct module m = module_to_ask(of);
	char id[DEBUG_ID_TEXT];

	buf_adds(out, "{\"debug_id\": ");
	jtext_add(out, debug_id_breakpad(&m.debug_id, id));
	put_member(out, "type", m.object == OBJECT_UNKNOWN ? "" : object_types[m.object].name);
	put_member(out, "code_id", m.code_id);
	put_member(out, "debug_file", m.debug_file);
	put_member(out, "code_file", m.code_file);
	put_member(out, "debug_checksum", m.checksum);
	buf_adds(out, "}");
}

/* A frame is the index of its module and an offset in the module, or -1 and an address. */
static void json_asked(const struct stacks *s, const struct stack_frame *f, struct buf *out)
{
	if (has_offset(s, f))
		buf_addf(out, "[%" PRIu32 ", %" PRIu64 "]", f->module, f->look - s->module[f->module].base);
	else
		buf_addf(out, "[-1, %" PRIu64 "]", f->look);
}

/* One job, and one stack for each thread. */
static void json_request(const struct stacks *s, struct buf *out)
{
	buf_adds(out, "{\"jobs\": [{\"memoryMap\": [");
	for (size_t i = 0; i < s->n_modules; i++) {
		buf_adds(out, i ? ", " : "");
		json_module(out, &s->module[i]);
	}
	buf_adds(out, "], \"stacks\": [");
	for (size_t i = 0; i < s->n_threads; i++) {
		buf_adds(out, i ? ", [" : "[");
		for (size_t f = 0; f < s->thread[i].n; f++) {
			buf_adds(out, f ? ", " : "");
			json_asked(s, &s->frame[s->thread[i].first + f], out);
		}
		buf_adds(out, "]");
	}
	buf_adds(out, "]}]}");
}

static int put_json(const struct printing *p)
{
	const struct stacks *s = p->s;
	struct buf *out = p->out;

	put_json_member(out, "{\"reason\": ", s->reason);
	buf_addf(out, ", \"address\": \"0x%" PRIx64 "\", \"threads\": [", s->address);
	for (size_t i = 0; i < s->n_threads; i++) {
		buf_adds(out, i ? ", " : "");
		json_thread(p, &s->thread[i]);
	}
	buf_adds(out, "], \"request\": ");
	json_request(s, out);
	buf_adds(out, ", \"answer\": ");
	if (p->names)
		symb_write(p->names, out);
	else
		buf_adds(out, "null");
	return buf_adds(out, "}");
}

int stacks_print(const struct stacks *s, struct symb *symb, const struct symb_flags *flags, bool json,
	struct buf *out, struct err *e)
{
	struct printing p = {.s = s, .out = out, .room = BUF_UP_TO(SHOWN_MOST)};
	int r = symb ? ask(&p, symb, flags, e) : 0;

	p.brief = flags && flags->brief;
	if (r == 0) {
		r = json ? put_json(&p) : put_text(&p);
		if (r < 0)
			err_set(e, r, "%s", err_text(r));
	}
	buf_release(&p.room);
	symb_request_free(p.names);
	return r;
}

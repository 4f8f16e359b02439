/* A request of Mozilla's symbolication service, from its bytes to the bytes of its answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/form.h"
#include "base/utf8.h"
#include "base/util.h"
#include "symb/writing-private.h"

#include <inttypes.h>
#include <string.h>

/* The limits of symb_try(). */
#define NOW_BYTES (64u << 10) /* of the body */
#define NOW_FRAMES 2000
#define NOW_NANOSECONDS 3000000 /* of processor time for the look-ups: a file can have functions that take long */

const struct symb_api symb_apis[] = {
	{"v5", "/symbolicate/v5", "jobs of modules and stacks; functions, files, lines, inlined calls", true},
	{"v4", "/symbolicate/v4", "one job; a line of text for each frame", false},
	{0},
};

const struct symb_api *symb_api_find(const char *name)
{
	for (const struct symb_api *a = symb_apis; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

/* ---- answers as text for people: a line for each frame, and for each inlined call there --- */

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

/* Writes an answer, on at most s->writers threads at a time. Writing needs only a processor and memory, so
 * more writers than processors would only take more memory. `now`: returns -EAGAIN instead of waiting or taking
 * long. */
static int write_answer(struct symb_request *q, const struct symb_api *api, bool now, struct buf *out)
{
	struct symb *s = q->symb;
	bool full;
	int r;

	pthread_mutex_lock(&s->lock);
	while (!now && s->writing >= s->writers)
		pthread_cond_wait(&s->written, &s->lock);
	full = s->writing >= s->writers;
	s->writing += !full;
	pthread_mutex_unlock(&s->lock);
	if (full)
		return -EAGAIN;
	r = q->flags.text ? form_text(q, api, out) : form_write(q, api, now ? NOW_NANOSECONDS : 0, out);
	pthread_mutex_lock(&s->lock);
	s->writing--;
	pthread_cond_signal(&s->written);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Reads the request, finds its files, and writes the answer. Returns an HTTP status, with the reason in q->e, or
 * -errno. */
static int run(struct symb_request *q, const struct symb_api *api, struct span body, bool now, struct buf *out)
{
	int status = form_read(q, api, body), r;

	buf_clear(out);
	if (now && q->n_frames > NOW_FRAMES)
		return -EAGAIN;
	if (status != 200)
		return status;
	r = request_load(q, now);
	if (r == 0)
		status = form_check(q);
	if (r == 0 && status == 200)
		r = write_answer(q, api, now, out);
	return r < 0 ? r : status;
}

static void refuse(struct symb_request *q, const char *why, struct buf *out)
{
	symb_count(q->symb, COUNT_REFUSED, 1);
	buf_clear(out);
	if (q->flags.text)
		buf_adds(out, why);
	else
		form_refuse(why, out);
}

/* symb_answer(), or with `now` symb_try(). */
static int answer(struct symb *s, const struct symb_api *api, struct span body, const struct symb_flags *flags,
	bool now, struct buf *out)
{
	struct symb_request *q = symb_request_new(s, flags);
	int status = q ? run(q, api, body, now, out) : -ENOMEM;

	if (!q) {
		form_refuse(err_text(status), out);
		return symb_status(status);
	}
	if (status == -EAGAIN) {
		buf_clear(out);
		q->loaded = false; /* symb_answer() counts what is found */
	} else {
		symb_count(s, COUNT_REQUESTS, 1);
		if (status != 200)
			refuse(q, q->e.text[0] ? q->e.text : err_text(status), out);
	}
	symb_request_free(q);
	return status > 0 || status == -EAGAIN ? status : symb_status(status);
}

int symb_answer(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out)
{
	return answer(s, api, body, flags, false, out);
}

int symb_try(struct symb *s, const struct symb_api *api, struct span body,
	const struct symb_flags *flags, struct buf *out)
{
	return body.n > NOW_BYTES ? -EAGAIN : answer(s, api, body, flags, true, out);
}

int symb_write(struct symb_request *q, struct buf *out)
{
	return form_write(q, symb_api_find("v5"), 0, out);
}

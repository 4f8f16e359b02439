/* A request of Mozilla's symbolication service, from its bytes to the bytes of its answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symb/form.h"
#include "base/util.h"
#include "symb/private.h"

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

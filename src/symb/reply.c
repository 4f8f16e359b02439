/* Writes the answer to a request, in the form of v5 or v4: the stacks, and which modules were found. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "symb/writing.h"

#include <stdio.h>
#include <string.h>

#define FRAME_BYTES ((size_t)192) /* what a frame takes in most answers */
#define RESERVE_MOST ((size_t)1 << 20)

/* ---- stacks ----------------------------------------------------------------------------- */

static void put_stacks(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; w->r == 0 && i < job->n_stacks; i++) {
		const struct asked_stack *s = &w->q->stacks[job->stacks + i];

		reply_put(w, i ? ", [" : "[");
		for (size_t f = 0; w->r == 0 && f < s->n; f++) {
			const struct part *p = &w->part[s->first + f];
			size_t at = p->at, n = p->n;

			if (f)
				reply_put(w, PART_BETWEEN);
			/* Frames of one module lie one behind the other, and are copied at once. */
			for (; f + 1 < s->n && p[1].at == at + n + strlen(PART_BETWEEN); f++, p++)
				n += strlen(PART_BETWEEN) + p[1].n;
			if (w->r == 0)
				w->r = buf_add(w->out, buf_text(&w->parts) + at, n);
		}
		reply_put(w, "]");
	}
	reply_put(w, "]");
}

/* ---- modules ------------------------------------------------------------------------ */

/* As in Mozilla's service, "false" also stands for a module for which a source could not be asked.
 * `module_errors` distinguishes the two. */
static const char *found_word(const struct wanted *w)
{
	return !w->asked ? "null" : w->file ? "true" : "false";
}

/* Writes the modules of a job, each once. `errors`: only the modules that were not found, with the reason. */
static void put_modules(struct writing *w, const struct asked_job *job, bool errors)
{
	unsigned mark = (unsigned)(job - w->q->jobs) * 2 + errors + 1;
	bool some = false;

	reply_put(w, "{");
	for (size_t i = 0; i < job->n_modules; i++) {
		struct wanted *m = &w->q->wanted[w->q->refs[job->modules + i]];

		if (m->job == mark || (errors && (!m->asked || m->file)))
			continue;
		m->job = mark;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, m);
		if (errors) {
			reply_putf(w, ": [{\"name\": \"%s\", \"message\": ", m->unsure ? "Unknown" : "NotFound");
			reply_string(w, m->why);
			reply_put(w, "}]");
		} else {
			reply_putf(w, ": %s", found_word(m));
		}
	}
	reply_put(w, "}");
}

static void put_known(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; i < job->n_modules; i++)
		reply_putf(w, "%s%s", i ? ", " : "", found_word(&w->q->wanted[w->q->refs[job->modules + i]]));
	reply_put(w, "]");
}

/* ---- the answer --------------------------------------------------------------------- */

static void put_v5(struct writing *w, double took)
{
	reply_put(w, "{\"results\": [");
	for (size_t i = 0; w->r == 0 && i < w->q->n_jobs; i++) {
		const struct asked_job *job = &w->q->jobs[i];

		reply_put(w, i ? ", {\"stacks\": " : "{\"stacks\": ");
		put_stacks(w, job);
		reply_put(w, ", \"found_modules\": ");
		put_modules(w, job, false);
		if (w->flags->module_errors) {
			reply_put(w, ", \"module_errors\": ");
			put_modules(w, job, true);
		}
		reply_put(w, "}");
	}
	reply_put(w, "]");
	if (w->flags->debug)
		reply_debug(w, took);
	reply_put(w, "}");
}

static void put_v4(struct writing *w)
{
	reply_put(w, "{\"symbolicatedStacks\": ");
	put_stacks(w, &w->q->jobs[0]);
	reply_put(w, ", \"knownModules\": ");
	put_known(w, &w->q->jobs[0]);
	reply_put(w, "}");
}

int reply_write(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double took, uint64_t most, struct buf *out)
{
	_cleanup_free_ struct writing *w = malloc(sizeof(*w));
	_cleanup_free_ struct part *part = calloc(q->n_frames + 1, sizeof(*part));
	_cleanup_free_ uint32_t *first = calloc(q->n_wanted + 1, sizeof(*first));

	if (!w || !part || !first)
		return -ENOMEM;
	w->q = q;
	w->flags = flags;
	w->out = out;
	w->part = part;
	w->parts = BUF_UP_TO(SYMB_REPLY_MOST);
	w->name = BUF_UP_TO(SYMB_REPLY_MOST);
	w->until = most ? clock_own() + most : 0;
	w->frames = w->named = 0;
	w->r = buf_reserve(&w->parts, MIN(q->n_frames * FRAME_BYTES, RESERVE_MOST));
	frames_write(w, s, api, first);
	if (w->r == 0) /* most of the answer is frames, and ", " between them */
		w->r = buf_reserve(out, MIN(w->parts.n + q->n_frames * 2, SYMB_REPLY_MOST / 2));
	if (api->jobs)
		put_v5(w, took);
	else
		put_v4(w);
	buf_release(&w->parts);
	buf_release(&w->name);
	if (w->r == -EAGAIN)
		return w->r;
	atomic_fetch_add(&s->counts[COUNT_FRAMES], w->frames);
	atomic_fetch_add(&s->counts[COUNT_NAMED], w->named);
	return w->r;
}

int reply_error(const char *title, struct buf *out)
{
	int r;

	buf_clear(out);
	r = buf_adds(out, "{\"title\": ");
	if (r == 0)
		r = jtext_add(out, title);
	return r < 0 ? r : buf_adds(out, "}");
}

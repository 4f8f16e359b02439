/* Writes the answer to a request, in the form of v5 or v4: the stacks, which modules were found, and the "debug" part
 * for clients that send the header Debug: cache hits, downloads and times. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "symb/writing-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void writing_line(struct symb_request *q, size_t frame, struct buf *out)
{
	const struct asked_frame *f = &q->frames[frame];
	unsigned n = symb_look_up(q, frame);
	const char *function = n ? symb_name(q, n - 1)->function : NULL;
	char room[HEX_ROOM];

	buf_addf(out, "%s (in %s)", function ? function : writing_offset(q, f, room),
		writing_module(writing_wanted(q, f)));
}

/* Writes a text in quotes, and takes over its error. */
static void put_quoted(struct writing *w, const struct buf *text)
{
	if (w->out->r == 0)
		w->out->r = text->r;
	jtext_add(w->out, buf_text(text));
}

static void put_place(struct writing *w, const struct symb_name *n)
{
	if (!n->file)
		return;
	reply_put(w, ", \"file\": ");
	jtext_add(w->out, n->file);
	if (n->line) {
		reply_put(w, ", \"line\": ");
		reply_number(w, n->line);
	}
	if (n->language) {
		reply_put(w, ", \"language\": ");
		jtext_add(w->out, n->language);
	}
}

static void put_inlines(struct writing *w, unsigned n)
{
	if (!n)
		return;
	reply_put(w, ", \"inlines\": [");
	for (unsigned i = 0; i < n; i++) {
		const struct symb_name *name = symb_name(w->q, i);

		reply_put(w, i ? ", {\"function\": " : "{\"function\": ");
		jtext_add(w->out, name->function);
		put_place(w, name);
		reply_put(w, "}");
	}
	reply_put(w, "]");
}

static void put_function(struct writing *w, const struct asked_frame *f, const struct symb_name *n)
{
	if (!n->function)
		return;
	reply_put(w, ", \"function\": ");
	jtext_add(w->out, n->function);
	if (f->method)
		return;
	reply_put(w, ", \"function_offset\": ");
	reply_hex(w, n->before, n->offset);
	if (w->q->flags.function_size) {
		reply_put(w, ", \"function_size\": ");
		reply_hex(w, false, n->size);
	}
}

static void put_frame_v5(struct writing *w, uint32_t number, size_t frame)
{
	const struct asked_frame *f = &w->q->frames[frame];
	unsigned n = symb_look_up(w->q, frame);
	const struct symb_name *name;
	char room[HEX_ROOM];

	reply_put(w, "{\"frame\": ");
	reply_number(w, number);
	reply_put(w, ", \"module\": ");
	jtext_add(w->out, writing_module(writing_wanted(w->q, f)));
	reply_put(w, ", \"module_offset\": ");
	jtext_add(w->out, writing_offset(w->q, f, room));
	if (f->method) {
		reply_put(w, ", \"function_id\": ");
		reply_hex(w, false, f->method);
	}
	if (n) {
		name = symb_name(w->q, n - 1);
		put_function(w, f, name);
		put_place(w, name);
		put_inlines(w, n - 1);
	}
	reply_put(w, "}");
}

static void put_frame_v4(struct writing *w, size_t frame)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);

	writing_line(w->q, frame, &text);
	put_quoted(w, &text);
}

/* Makes a list of frames for each module, in the order of the request. */
static void sort_frames(struct writing *w, uint32_t *first)
{
	const struct symb_request *q = w->q;

	for (size_t m = 0; m <= q->n_wanted; m++)
		first[m] = NO_PART;
	for (size_t k = q->n_stacks; k--;) {
		const struct asked_stack *s = &q->stacks[k];

		for (size_t f = s->n; f--;) {
			uint32_t module = q->frames[s->first + f].module;
			uint32_t *list = &first[module == SYMB_NO_MODULE ? q->n_wanted : module];

			w->part[s->first + f].number = (uint32_t)f;
			w->part[s->first + f].next = *list;
			*list = (uint32_t)(s->first + f);
		}
	}
}

/* Looks at the clock after every 64th frame. */
static void check_time(struct writing *w)
{
	if (w->until && w->q->n_looked % 64 == 0 && w->out->r == 0 && clock_own() > w->until)
		w->out->r = -EAGAIN;
}

/* Writes the frames of all stacks into w->parts, and their positions into w->part. Works module by module, so that
 * only one of many large files is in memory at a time. An error goes into w->parts.r. `first` has room for one more
 * entry than the request has modules. */
static void write_frames(struct writing *w, const struct symb_api *api, uint32_t *first)
{
	struct buf *out = w->out;

	sort_frames(w, first);
	w->out = &w->parts;
	for (size_t m = 0; w->out->r == 0 && m <= w->q->n_wanted; m++) {
		struct wanted *module = m < w->q->n_wanted ? &w->q->wanted[m] : NULL;

		for (uint32_t i = first[m]; w->out->r == 0 && i != NO_PART; i = w->part[i].next) {
			struct part *p = &w->part[i];

			p->at = w->parts.n;
			if (api->jobs)
				put_frame_v5(w, p->number, i);
			else
				put_frame_v4(w, i);
			p->n = (uint32_t)(w->parts.n - p->at);
			reply_put(w, PART_BETWEEN);
			check_time(w);
		}
		if (module && module->file && first[m] != NO_PART)
			loaded_rest(w->q->symb, module->file);
		if (module && module->names && first[m] != NO_PART)
			loaded_rest(w->q->symb, module->names);
	}
	w->out = out;
	out->r = w->parts.r;
}

#define FRAME_BYTES ((size_t)192) /* what a frame takes in most answers */
#define RESERVE_MOST ((size_t)1 << 20)

/* ---- stacks ----------------------------------------------------------------------------- */

static void put_stacks(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; w->out->r == 0 && i < job->n_stacks; i++) {
		const struct asked_stack *s = &w->q->stacks[job->stacks + i];

		reply_put(w, i ? ", [" : "[");
		for (size_t f = 0; w->out->r == 0 && f < s->n; f++) {
			const struct part *p = &w->part[s->first + f];
			size_t at = p->at, n = p->n;

			if (f)
				reply_put(w, PART_BETWEEN);
			/* Frames of one module lie one behind the other, and are copied at once. */
			for (; f + 1 < s->n && p[1].at == at + n + strlen(PART_BETWEEN); f++, p++)
				n += strlen(PART_BETWEEN) + p[1].n;
			buf_add(w->out, buf_text(&w->parts) + at, n);
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

/* Begins the member of a module in an object. `some`: whether the object has members already. */
static void put_member(struct writing *w, bool *some, const struct wanted *m)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);

	reply_put(w, *some ? ", " : "");
	*some = true;
	buf_addf(&text, "%s/%s", m->name, m->id);
	put_quoted(w, &text);
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
		put_member(w, &some, m);
		if (errors) {
			buf_addf(w->out, ": [{\"name\": \"%s\", \"message\": ", m->unsure ? "Unknown" : "NotFound");
			jtext_add(w->out, m->why);
			reply_put(w, "}]");
		} else {
			buf_addf(w->out, ": %s", found_word(m));
		}
	}
	reply_put(w, "}");
}

static void put_known(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; i < job->n_modules; i++)
		buf_addf(w->out, "%s%s", i ? ", " : "", found_word(&w->q->wanted[w->q->refs[job->modules + i]]));
	reply_put(w, "]");
}

/* ---- what the header Debug asks for ---------------------------------------------- */

/* Writes `"NAME": {"FILE/ID": seconds, ...}, ` with the modules for which `of` sets `*has`. Returns the sum
 * of the seconds. */
static double put_times(struct writing *w, const char *name, double (*of)(const struct wanted *m, bool *has))
{
	double sum = 0;
	bool some = false;

	buf_addf(w->out, "\"%s\": {", name);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		bool has = false;
		double v = of(&w->q->wanted[i], &has);

		if (!has)
			continue;
		put_member(w, &some, &w->q->wanted[i]);
		buf_addf(w->out, ": %.9f", v);
		sum += v;
	}
	reply_put(w, "}, ");
	return sum;
}

/* Like put_times(), for failures; writes nothing if no module failed. */
static void put_failures(struct writing *w, double (*of)(const struct wanted *m, bool *has))
{
	bool some = false, has;

	for (size_t i = 0; !some && i < w->q->n_wanted; i++, some = has)
		of(&w->q->wanted[i], &has);
	if (some)
		put_times(w, "fail_time_per_module", of);
}

static double fetch_time(const struct wanted *m, bool *has)
{
	*has = m->fetched && m->size;
	return m->fetch_seconds;
}

static double fetch_fail_time(const struct wanted *m, bool *has)
{
	*has = m->fetched && !m->size;
	return m->fetch_seconds;
}

static double make_time(const struct wanted *m, bool *has)
{
	*has = m->made && m->file;
	return m->make_seconds;
}

static double make_fail_time(const struct wanted *m, bool *has)
{
	*has = m->made && !m->file;
	return m->make_seconds;
}

/* Always 0: a conversion includes storing its result, so the time of storing alone is unknown. */
static double save_time(const struct wanted *m, bool *has)
{
	*has = m->made && m->file;
	return 0;
}

static void put_downloads(struct writing *w)
{
	uint64_t bytes = 0;
	unsigned count = 0;
	bool some = false;

	reply_put(w, "\"downloads\": {\"size_per_module\": {");
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		struct wanted *m = &w->q->wanted[i];

		count += m->fetched;
		if (!m->fetched || !m->size)
			continue;
		put_member(w, &some, m);
		buf_addf(w->out, ": %" PRIu64, m->size);
		bytes += m->size;
	}
	buf_addf(w->out, "}, \"count\": %u, \"size\": %" PRIu64 ", ", count, bytes);
	put_failures(w, fetch_fail_time);
	buf_addf(w->out, "\"time\": %.9f}, ", put_times(w, "time_per_module", fetch_time));
}

/* The file that each module's names come from, for modules that this request converted. */
static void put_files(struct writing *w)
{
	bool some = false;

	reply_put(w, "\"files\": {");
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		const struct wanted *m = &w->q->wanted[i];
		char worth[WORTH_TEXT];

		if (!m->file || m->used == FILETYPE_NONE)
			continue;
		put_member(w, &some, m);
		buf_addf(w->out, ": {\"type\": \"%s\", \"source\": ", filetypes[m->used].name);
		jtext_add(w->out, m->used_source);
		buf_addf(w->out, ", \"worth\": \"%s\"}", worth_text(&m->used_worth, worth));
	}
	reply_put(w, "}, ");
}

static void reply_debug(struct writing *w)
{
	unsigned lookups = 0, hits = 0, uses = 0;
	double looked = 0;
	bool some = false;

	for (size_t i = 0; i < w->q->n_wanted; i++) {
		lookups += w->q->wanted[i].asked;
		hits += w->q->wanted[i].hit;
		looked += w->q->wanted[i].look_seconds;
		uses += w->q->wanted[i].asked ? w->q->wanted[i].jobs : 0;
	}
	buf_addf(w->out, ", \"debug\": {\"time\": %.9f, ", w->q->took);
	buf_addf(w->out, "\"cache_lookups\": {\"count\": %u, \"hits\": %u, \"time\": %.9f}, ", lookups, hits, looked);
	put_downloads(w);
	put_files(w);
	reply_put(w, "\"parse_sym\": {");
	put_failures(w, make_fail_time);
	buf_addf(w->out, "\"time\": %.9f}, ", put_times(w, "time_per_module", make_time));
	reply_put(w, "\"save_symcache\": {");
	buf_addf(w->out, "\"time\": %.9f}, ", put_times(w, "time_per_module", save_time));
	buf_addf(w->out, "\"modules\": {\"count\": %u, \"stacks_per_module\": {", uses);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		if (!w->q->wanted[i].asked)
			continue;
		put_member(w, &some, &w->q->wanted[i]);
		buf_addf(w->out, ": %u", w->q->wanted[i].jobs);
	}
	reply_put(w, "}}}");
}

/* ---- the answer --------------------------------------------------------------------- */

static void put_v5(struct writing *w)
{
	reply_put(w, "{\"results\": [");
	for (size_t i = 0; w->out->r == 0 && i < w->q->n_jobs; i++) {
		const struct asked_job *job = &w->q->jobs[i];

		reply_put(w, i ? ", {\"stacks\": " : "{\"stacks\": ");
		put_stacks(w, job);
		reply_put(w, ", \"found_modules\": ");
		put_modules(w, job, false);
		if (w->q->flags.module_errors) {
			reply_put(w, ", \"module_errors\": ");
			put_modules(w, job, true);
		}
		reply_put(w, "}");
	}
	reply_put(w, "]");
	if (w->q->flags.debug)
		reply_debug(w);
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

int form_write(struct symb_request *q, const struct symb_api *api, uint64_t most, struct buf *out)
{
	_cleanup_free_ struct part *part = calloc(q->n_frames + 1, sizeof(*part));
	_cleanup_free_ uint32_t *first = calloc(q->n_wanted + 1, sizeof(*first));
	struct writing w = {.q = q, .out = out, .part = part, .parts = BUF_UP_TO(SYMB_REPLY_MOST),
		.until = most ? clock_own() + most : 0};

	if (!part || !first)
		return -ENOMEM;
	buf_reserve(&w.parts, MIN(q->n_frames * FRAME_BYTES, RESERVE_MOST));
	write_frames(&w, api, first);
	/* Most of the answer is frames, and ", " between them. */
	buf_reserve(out, MIN(w.parts.n + q->n_frames * 2, SYMB_REPLY_MOST / 2));
	if (api->jobs)
		put_v5(&w);
	else
		put_v4(&w);
	buf_release(&w.parts);
	return out->r;
}

int form_refuse(const char *title, struct buf *out)
{
	buf_clear(out);
	buf_adds(out, "{\"title\": ");
	jtext_add(out, title);
	return buf_adds(out, "}");
}

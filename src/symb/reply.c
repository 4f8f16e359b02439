/* Writes answers: the frames of v5 and v4, and what came of the modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/util.h"
#include "convert/exact.h"
#include "convert/from-ppdb.h"
#include "symb/private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PATH_MOST 16384

/* The answer to a frame, in `parts`. */
struct part {
	uint32_t module; /* of the request; their number when it is of none */
	uint32_t number; /* in its stack */
	uint32_t next;	 /* of the same module; NO_PART */
	uint32_t n;
	size_t at;
};
#define NO_PART UINT32_MAX

struct writing {
	struct request *q;
	const struct symb_flags *flags;
	struct buf *out, parts;
	struct buf name; /* of a function, for people */
	struct part *part; /* by frame */
	int r; /* the first error; what follows does nothing */
	uint64_t frames, named;
	struct gsym_hit hit;
	char path[PATH_MOST];
};

static void put(struct writing *w, const char *text)
{
	if (w->r == 0)
		w->r = buf_adds(w->out, text);
}

static void put_string(struct writing *w, const char *text)
{
	if (w->r == 0)
		w->r = jtext_add(w->out, text);
}

static void put_f(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_f(struct writing *w, const char *fmt, ...)
{
	char room[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(room, sizeof(room), fmt, ap);
	va_end(ap);
	put(w, room);
}

/* ---- one frame ---------------------------------------------------------------------- */

/* A function as it is wanted; good until the next. */
static const char *name_of(struct writing *w, const char *name)
{
	return w->flags->demangle && demangle(name, &w->name) ? buf_text(&w->name) : name;
}

struct answer {
	struct wanted *module; /* NULL: there is none */
	bool found;
	int64_t more; /* of offsets into the function */
	uint64_t offset;
	const char *function;
};

static const char *module_name(const struct wanted *w)
{
	if (w && w->file && w->file->name[0])
		return w->file->name;
	return w && w->name[0] ? w->name : "<unknown>";
}

/* Where a frame is looked up. A Portable PDB has a range of addresses for each method. */
static bool address_of(const struct loaded *l, const struct asked_frame *f, uint64_t *out)
{
	if (f->minus || f->big)
		return false;
	if (f->method) {
		*out = PPDB_METHOD(f->method) | f->offset;
		return f->offset <= UINT32_MAX && l->exact;
	}
	*out = f->offset + l->g.base;
	return *out >= f->offset && !(l->exact && f->offset > UINT32_MAX);
}

static void look_up(struct writing *w, struct wanted *module, const struct asked_frame *f, struct answer *a)
{
	const struct loaded *l = module ? module->file : NULL;
	uint64_t addr;

	*a = (struct answer){.module = module};
	w->frames++;
	if (!l || !address_of(l, f, &addr) || gsym_lookup(&l->g, addr, &w->hit, NULL) < 0)
		return;
	a->found = true;
	a->function = w->hit.frame[w->hit.n - 1].name;
	a->offset = addr - w->hit.start;
	if (l->exact) {
		a->function = exact_name(a->function, &a->more);
		a->offset += (uint64_t)a->more;
	}
	w->named++;
}

/* Numbers below zero have their sign in front, as Python prints them. */
static void put_hex(struct writing *w, bool minus, uint64_t v)
{
	put_f(w, "\"%s0x%" PRIx64 "\"", minus ? "-" : "", v);
}

/* The offset of a frame, as Python prints it; in `room`, or where the request has it. */
static const char *offset_of(const struct writing *w, const struct asked_frame *f, char room[static 24])
{
	if (f->big)
		return w->q->bigs.p + f->big - 1;
	snprintf(room, 24, "%s0x%" PRIx64, f->minus ? "-" : "", f->offset);
	return room;
}

static void put_place(struct writing *w, const struct gsym_frame *f)
{
	if (!exact_file(f->dir, f->base))
		return;
	put(w, ", \"file\": ");
	put_string(w, gsym_path_text(f->dir, f->base, w->path, sizeof(w->path)));
	if (f->line)
		put_f(w, ", \"line\": %" PRIu32, f->line);
}

static void put_inlines(struct writing *w)
{
	if (w->hit.n < 2)
		return;
	put(w, ", \"inlines\": [");
	for (unsigned i = 0; i + 1 < w->hit.n; i++) {
		put(w, i ? ", {\"function\": " : "{\"function\": ");
		put_string(w, name_of(w, w->hit.frame[i].name));
		put_place(w, &w->hit.frame[i]);
		put(w, "}");
	}
	put(w, "]");
}

/* A method has no name in its PDB, and no function's is known. */
static void put_function(struct writing *w, const struct asked_frame *f, const struct answer *a)
{
	bool minus = (int64_t)a->offset < 0 && a->more < 0;

	if (f->method)
		return;
	put(w, ", \"function\": ");
	put_string(w, name_of(w, a->function));
	put(w, ", \"function_offset\": ");
	put_hex(w, minus, minus ? -a->offset : a->offset);
	if (w->flags->function_size) {
		put(w, ", \"function_size\": ");
		put_hex(w, false, w->hit.size);
	}
}

static void put_frame_v5(struct writing *w, struct wanted *module, uint32_t n, const struct asked_frame *f)
{
	struct answer a;
	char room[24];

	look_up(w, module, f, &a);
	put_f(w, "{\"frame\": %" PRIu32 ", \"module\": ", n);
	put_string(w, module_name(a.module));
	put(w, ", \"module_offset\": ");
	put_string(w, offset_of(w, f, room));
	if (f->method)
		put_f(w, ", \"function_id\": \"0x%" PRIx32 "\"", f->method);
	if (a.found) {
		put_function(w, f, &a);
		put_place(w, &w->hit.frame[w->hit.n - 1]);
		put_inlines(w);
	}
	put(w, "}");
}

static void put_frame_v4(struct writing *w, struct wanted *module, const struct asked_frame *f)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);
	struct answer a;
	char room[24];
	int r;

	look_up(w, module, f, &a);
	r = a.found && !f->method ? buf_adds(&text, name_of(w, a.function))
				  : buf_adds(&text, offset_of(w, f, room));
	if (r == 0)
		r = buf_addf(&text, " (in %s)", module_name(a.module));
	if (w->r == 0)
		w->r = r < 0 ? r : jtext_add(w->out, buf_text(&text));
}

/* Which frames are of which module, each list in the order of the request. */
static void sort_frames(struct writing *w, uint32_t *first)
{
	const struct request *q = w->q;
	size_t i = q->n_jobs;

	for (size_t m = 0; m <= q->n_wanted; m++)
		first[m] = NO_PART;
	while (i--) {
		const struct asked_job *job = &q->jobs[i];

		for (size_t k = job->n_stacks; k--;) {
			const struct asked_stack *s = &q->stacks[job->stacks + k];

			for (size_t f = s->n; f--;) {
				const struct asked_frame *frame = &q->frames[s->first + f];
				struct part *p = &w->part[s->first + f];

				p->number = (uint32_t)f;
				p->module = frame->module == NO_MODULE
						    ? (uint32_t)q->n_wanted
						    : q->refs[job->modules + frame->module];
				p->next = first[p->module];
				first[p->module] = (uint32_t)(s->first + f);
			}
		}
	}
}

/* Module by module, so that of many large files one is in memory at a time. */
static void answer_frames(struct writing *w, struct symb *s, const struct symb_api *api, const uint32_t *first)
{
	struct buf *out = w->out;

	w->out = &w->parts;
	for (size_t m = 0; w->r == 0 && m <= w->q->n_wanted; m++) {
		struct wanted *module = m < w->q->n_wanted ? &w->q->wanted[m] : NULL;

		for (uint32_t i = first[m]; w->r == 0 && i != NO_PART; i = w->part[i].next) {
			struct part *p = &w->part[i];

			p->at = w->parts.n;
			if (api->jobs)
				put_frame_v5(w, module, p->number, &w->q->frames[i]);
			else
				put_frame_v4(w, module, &w->q->frames[i]);
			p->n = (uint32_t)(w->parts.n - p->at);
		}
		if (module && module->file && first[m] != NO_PART)
			loaded_rest(s, module->file);
	}
	w->out = out;
}

static void put_stacks(struct writing *w, const struct asked_job *job)
{
	put(w, "[");
	for (size_t i = 0; w->r == 0 && i < job->n_stacks; i++) {
		const struct asked_stack *s = &w->q->stacks[job->stacks + i];

		put(w, i ? ", [" : "[");
		for (size_t f = 0; w->r == 0 && f < s->n; f++) {
			const struct part *p = &w->part[s->first + f];

			if (f)
				put(w, ", ");
			if (w->r == 0)
				w->r = buf_add(w->out, buf_text(&w->parts) + p->at, p->n);
		}
		put(w, "]");
	}
	put(w, "]");
}

/* ---- modules ------------------------------------------------------------------------ */

/* As Mozilla's service: "false" also where somebody could not be asked. Who wants to know the
 * difference asks for the errors. */
static const char *found_word(const struct wanted *w)
{
	return !w->asked ? "null" : w->file ? "true" : "false";
}

static void put_key(struct writing *w, const struct wanted *m)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);
	int r = buf_addf(&text, "%s/%s", m->name, m->id);

	if (w->r == 0)
		w->r = r < 0 ? r : jtext_add(w->out, buf_text(&text));
}

/* The modules of a job, each once. */
static void put_modules(struct writing *w, const struct asked_job *job, bool errors)
{
	unsigned mark = (unsigned)(job - w->q->jobs) * 2 + errors + 1;
	bool some = false;

	put(w, "{");
	for (size_t i = 0; i < job->n_modules; i++) {
		struct wanted *m = &w->q->wanted[w->q->refs[job->modules + i]];

		if (m->job == mark || (errors && (!m->asked || m->file)))
			continue;
		m->job = mark;
		if (some)
			put(w, ", ");
		some = true;
		put_key(w, m);
		if (errors) {
			put_f(w, ": [{\"name\": \"%s\", \"message\": ", m->unsure ? "Unknown" : "NotFound");
			put_string(w, m->why);
			put(w, "}]");
		} else {
			put_f(w, ": %s", found_word(m));
		}
	}
	put(w, "}");
}

static void put_known(struct writing *w, const struct asked_job *job)
{
	put(w, "[");
	for (size_t i = 0; i < job->n_modules; i++)
		put_f(w, "%s%s", i ? ", " : "", found_word(&w->q->wanted[w->q->refs[job->modules + i]]));
	put(w, "]");
}

/* ---- times -------------------------------------------------------------------------- */

/* `"NAME": {"FILE/ID": seconds, ...}, ` of those that `has` is true of; returns the sum. */
static double put_times(struct writing *w, const char *name, double (*of)(const struct wanted *m, bool *has))
{
	double sum = 0;
	bool some = false;

	put_f(w, "\"%s\": {", name);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		bool has = false;
		double v = of(&w->q->wanted[i], &has);

		if (!has)
			continue;
		if (some)
			put(w, ", ");
		some = true;
		put_key(w, &w->q->wanted[i]);
		put_f(w, ": %.9f", v);
		sum += v;
	}
	put(w, "}, ");
	return sum;
}

/* The same where there is mostly none, and then nothing is written. */
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

/* Making a file stores it, and no time of that is its own. */
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

	put(w, "\"downloads\": {\"size_per_module\": {");
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		struct wanted *m = &w->q->wanted[i];

		count += m->fetched;
		if (!m->fetched || !m->size)
			continue;
		if (some)
			put(w, ", ");
		some = true;
		put_key(w, m);
		put_f(w, ": %" PRIu64, m->size);
		bytes += m->size;
	}
	put_f(w, "}, \"count\": %u, \"size\": %" PRIu64 ", ", count, bytes);
	put_failures(w, fetch_fail_time);
	put_f(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", fetch_time));
}

static void put_debug(struct writing *w, double took)
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
	put_f(w, ", \"debug\": {\"time\": %.9f, ", took);
	put_f(w, "\"cache_lookups\": {\"count\": %u, \"hits\": %u, \"time\": %.9f}, ", lookups, hits, looked);
	put_downloads(w);
	put(w, "\"parse_sym\": {");
	put_failures(w, make_fail_time);
	put_f(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", make_time));
	put(w, "\"save_symcache\": {");
	put_f(w, "\"time\": %.9f}, ", put_times(w, "time_per_module", save_time));
	put_f(w, "\"modules\": {\"count\": %u, \"stacks_per_module\": {", uses);
	for (size_t i = 0; i < w->q->n_wanted; i++) {
		if (!w->q->wanted[i].asked)
			continue;
		if (some)
			put(w, ", ");
		some = true;
		put_key(w, &w->q->wanted[i]);
		put_f(w, ": %u", w->q->wanted[i].jobs);
	}
	put(w, "}}}");
}

/* ---- the whole ---------------------------------------------------------------------- */

static void put_v5(struct writing *w, double took)
{
	put(w, "{\"results\": [");
	for (size_t i = 0; w->r == 0 && i < w->q->n_jobs; i++) {
		const struct asked_job *job = &w->q->jobs[i];

		put(w, i ? ", {\"stacks\": " : "{\"stacks\": ");
		put_stacks(w, job);
		put(w, ", \"found_modules\": ");
		put_modules(w, job, false);
		if (w->flags->module_errors) {
			put(w, ", \"module_errors\": ");
			put_modules(w, job, true);
		}
		put(w, "}");
	}
	put(w, "]");
	if (w->flags->debug)
		put_debug(w, took);
	put(w, "}");
}

static void put_v4(struct writing *w)
{
	put(w, "{\"symbolicatedStacks\": ");
	put_stacks(w, &w->q->jobs[0]);
	put(w, ", \"knownModules\": ");
	put_known(w, &w->q->jobs[0]);
	put(w, "}");
}

int reply_write(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double took, struct buf *out)
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
	w->r = 0;
	w->frames = w->named = 0;
	sort_frames(w, first);
	answer_frames(w, s, api, first);
	if (api->jobs)
		put_v5(w, took);
	else
		put_v4(w);
	buf_release(&w->parts);
	buf_release(&w->name);
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
